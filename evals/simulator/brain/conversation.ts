/** One request to the model in neutral form. Each wire has its translation into this. */
export type Conversation = {
  readonly system: string;
  /** Names of the tools that may be called now. */
  readonly tools: readonly string[];
  readonly messages: readonly Message[];
};

export type Message =
  | { readonly from: "user"; readonly parts: readonly UserPart[] }
  | {
      readonly from: "model";
      readonly text: string;
      readonly calls: readonly { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }[];
    };

/** A file that the user attached. `sent`: its bytes are in the request; else only a marker tells of it. */
export type File = { readonly mime: string; readonly bytes: number; readonly sent: boolean };

/** Results stand in the order of the calls that they answer. */
export type UserPart =
  | { readonly kind: "text"; readonly text: string }
  | ({ readonly kind: "file" } & File)
  | { readonly kind: "result"; readonly tool: string; readonly output: unknown; readonly error: string | null };
