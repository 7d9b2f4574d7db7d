import type { Clock } from "../../machines/effects.ts";

/** Something is being made ahead, while the database is asked whether it is needed. */
export type Preparing<T> = {
  /** What was made by now. Nothing is made any more. */
  end(): T | undefined;
};

/**
 * Makes something that has no effect until it is used, once the statement that was asked for before has left. It can be
 * done without, so a fault of it is told and harms nobody.
 */
export function prepare<T>(
  soon: Clock["soon"],
  make: () => T | undefined,
  onFault: (error: unknown) => void,
): Preparing<T> {
  let made: T | undefined;
  let isOver = false;
  // The statement leaves in the next turn of the loop: not before it has.
  soon(() =>
    soon(() => {
      if (isOver) return;
      try {
        made = make();
      } catch (error) {
        onFault(error);
      }
    }),
  );
  return {
    end() {
      isOver = true;
      return made;
    },
  };
}
