import { asked } from "./database-error.ts";
import type { Database } from "./fence.ts";
import { isRecord, opened, places } from "./sealed.ts";
import type { SummaryDraft, WantedSummaries } from "./store.ts";

type Row = { readonly body: Buffer; readonly data_key: Buffer };

/** Drafts of summaries. Whoever made one holds no lease: the owner takes it over, or it is never used. */
export function postgresSummaries({ sql, keys }: Database): WantedSummaries {
  return {
    async keep(id, draft) {
      const cipher = await keys.find(id);
      if (!cipher) return false;
      // Only where the anchor still stands: a later one has no use for it, and would keep it for ever.
      const kept = await asked(sql`
        insert into summaries (session_id, anchor, until_pos, body)
        select id, ${draft.from}, ${draft.to}, ${cipher.seal(places.summaries(draft.from), draft)}
        from sessions where id = ${id} and anchor = ${draft.from}
        on conflict do nothing`);
      return kept.count > 0;
    },

    async find(id, anchor) {
      const [row] = await asked(sql<Row[]>`
        select d.body, s.data_key from summaries d join sessions s on s.id = d.session_id
        where d.session_id = ${id} and d.anchor = ${anchor}`);
      return row && opened(id, keys.open(id, row.data_key), places.summaries(anchor), row.body, isDraft);
    },

    async isWanted(id, anchor) {
      const rows = await asked(sql`
        select from sessions s where s.id = ${id} and s.anchor = ${anchor}
          and not exists (select from summaries d where d.session_id = s.id and d.anchor = s.anchor)`);
      return rows.length > 0;
    },
  };
}

function isDraft(value: unknown): value is SummaryDraft {
  if (!isRecord(value)) return false;
  const { from, to, text, digest, passes, profile, clipped } = value;
  const counts = [from, to, passes].every((count) => Number.isInteger(count));
  const texts = [text, digest, profile].every((one) => typeof one === "string");
  return counts && texts && Array.isArray(clipped);
}
