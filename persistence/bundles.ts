import { isUuid } from "../machines/ids.ts";
import { asked } from "./database-error.ts";
import type { Database } from "./fence.ts";
import { opened, places } from "./sealed.ts";
import type { Bundles } from "./store.ts";

type Row = { readonly body: Buffer; readonly data_key: Buffer };

/** What research found. Written with the end of its sub-agent (`Subagents.finish`), never changed. */
export function postgresBundles({ sql, keys }: Database): Bundles {
  return {
    async find(id, bundleId) {
      // The id comes from outside with a card.
      if (!isUuid(bundleId)) return undefined;
      const [row] = await asked(sql<Row[]>`
        select b.body, s.data_key from bundles b join sessions s on s.id = b.session_id
        where b.session_id = ${id} and b.bundle_id = ${bundleId}`);
      return row && opened(id, keys.open(id, row.data_key), places.bundles(bundleId), row.body, isAny);
    },
  };
}

const isAny = (value: unknown): value is unknown => value !== undefined;
