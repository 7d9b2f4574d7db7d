import { render } from "preact";
import { z } from "zod";
import { App } from "./app.tsx";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/conversation.css";
import "./styles/cards.css";
import "./styles/composer.css";

// zod would try `new Function`, which the page's content policy reports as a violation.
z.config({ jitless: true });

const root = document.getElementById("app");
if (root === null) throw new TypeError("index.html has no #app");
render(<App />, root);
