import "./strict-policy.ts";
import { render } from "preact";
import { App } from "./app.tsx";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/conversation.css";
import "./styles/cards.css";
import "./styles/asked.css";
import "./styles/proposal.css";
import "./styles/meter.css";
import "./styles/composer.css";

const root = document.getElementById("app");
if (root === null) throw new TypeError("index.html has no #app");
render(<App />, root);
