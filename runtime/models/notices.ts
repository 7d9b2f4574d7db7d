import type { ReasoningLost } from "../../machines/conversation/bedrock-reasoning.ts";
import type { ReasoningDropped } from "../../machines/conversation/project-gemini.ts";
import type { ToolLeftOut } from "../../machines/conversation/schema-gemini.ts";

/** Something an operator should see although the call goes on. Holds names and positions, never contents. */
export type ModelNotice =
  | ToolLeftOut
  | ReasoningDropped
  | ReasoningLost
  | { readonly kind: "unknown_part"; readonly fields: readonly string[] };

/** Told with the profile's name. */
export type Notice = (notice: ModelNotice, profile: string) => void;
