import { inspect } from "node:util";

/** A value that prints as `[secret]` wherever it lands: strings, JSON, `console.log`. `reveal` is the only way in. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  toString(): string {
    return "[secret]";
  }
  toJSON(): string {
    return "[secret]";
  }
  [inspect.custom](): string {
    return "[secret]";
  }
}
