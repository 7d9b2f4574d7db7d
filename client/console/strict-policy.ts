import { z } from "zod";

// zod would try `new Function` when a schema is made, which the page's content policy reports as a violation. To be
// imported before anything that makes one.
z.config({ jitless: true });
