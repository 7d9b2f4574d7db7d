/** Takes one of the tokens that flow in at `perSecond`, up to as many as flow in a second. False: none left. */
export type Allowance = () => boolean;

/**
 * A token bucket with the clock outside. Synchronous, so that frames keep their order: a limiter that answers with a
 * promise would let a ping overtake the command before it.
 */
export function allowance(perSecond: number, now: () => number): Allowance {
  let tokens = perSecond;
  let at = now();
  return () => {
    const time = now();
    tokens = Math.min(perSecond, tokens + ((time - at) / 1000) * perSecond);
    at = time;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
