import { useEffect, useRef, useState } from "preact/hooks";
import { isMediaType, MEDIA_TYPES, MOST_ATTACHMENTS } from "../../machines/protocol/uploads.ts";
import { Unreachable } from "../errors.ts";
import { type Fetch, sessionsApi } from "../http.ts";
import { Icon } from "./icons.tsx";
import "./styles/attachments.css";

type Progress =
  | { readonly kind: "sending"; readonly part: number }
  | { readonly kind: "there"; readonly id: string }
  | { readonly kind: "failed"; readonly problem: string };

/** A file that goes with the next message. `preview` is an address of this page's memory, for images. */
export type Attached = {
  readonly key: number;
  readonly name: string;
  readonly size: number;
  readonly preview?: string;
  readonly progress: Progress;
};

export type Attachments = {
  readonly all: readonly Attached[];
  /** Ids of what is uploaded, or undefined while something is under way or has failed. */
  readonly ids: readonly string[] | undefined;
  add(files: Iterable<File>): void;
  remove(key: number): void;
  clear(): void;
};

export const sizeText = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.max(1, Math.round(bytes / 1024))} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;

/** Why a file can't be attached, in words; undefined when it can. */
export function fileProblem({ type, size }: Pick<File, "type" | "size">, limit: number): string | undefined {
  if (!isMediaType(type)) return "Only images (PNG, JPEG, WebP, GIF), PDF and plain text can be attached.";
  if (size === 0) return "The file is empty.";
  return size > limit ? `Larger than ${sizeText(limit)}.` : undefined;
}

/** Files of the message that is being written: each is uploaded as soon as it is picked. `session` says where to. */
export function useAttachments(session: () => Promise<string>, limit: number): Attachments {
  const [all, setAll] = useState<readonly Attached[]>([]);
  const uploads = useRef(new Map<number, { readonly abort: AbortController; readonly preview?: string }>());
  const next = useRef(1);
  const drop = (key: number) => {
    const held = uploads.current.get(key);
    held?.abort.abort();
    if (held?.preview !== undefined) URL.revokeObjectURL(held.preview);
    uploads.current.delete(key);
  };
  useEffect(
    () => () => {
      for (const key of [...uploads.current.keys()]) drop(key);
    },
    [],
  );

  const start = (file: File): Attached => {
    const key = next.current++;
    const say = (progress: Progress) =>
      setAll((now) => now.map((one) => (one.key === key ? { ...one, progress } : one)));
    const abort = new AbortController();
    const problem = fileProblem(file, limit);
    const isImage = problem === undefined && file.type.startsWith("image/");
    const preview = isImage ? { preview: URL.createObjectURL(file) } : {};
    uploads.current.set(key, { abort, ...preview });
    if (problem === undefined) {
      const fetch = uploading((part) => say({ kind: "sending", part }), abort.signal);
      session()
        .then((id) => sessionsApi("", fetch).upload(id, file))
        .then(
          (id) => say({ kind: "there", id }),
          (error: Error) => say({ kind: "failed", problem: error.message }),
        );
    }
    const progress: Progress = problem === undefined ? { kind: "sending", part: 0 } : { kind: "failed", problem };
    return { key, name: file.name, size: file.size, ...preview, progress };
  };

  const there = all.flatMap(({ progress }) => (progress.kind === "there" ? [progress.id] : []));
  return {
    all,
    ids: there.length === all.length ? there : undefined,
    add: (files) => {
      const room = MOST_ATTACHMENTS - all.length;
      const added = [...files].slice(0, room).map(start);
      setAll((now) => [...now, ...added]);
    },
    remove(key) {
      drop(key);
      setAll((now) => now.filter((one) => one.key !== key));
    },
    clear() {
      for (const { key } of all) drop(key);
      setAll([]);
    },
  };
}

/** One upload as `fetch` would do it, but it says how far it is. */
function uploading(onPart: (part: number) => void, signal: AbortSignal): Fetch {
  return (url, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method, url);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded, total }) => onPart(total === 0 ? 0 : loaded / total);
      request.onerror = () => reject(new Unreachable("the upload was cut off"));
      request.onabort = () => reject(new Unreachable("the upload was stopped"));
      request.onload = () => {
        const { status, responseText } = request;
        resolve({ status, ok: status >= 200 && status < 300, json: async () => JSON.parse(responseText) as unknown });
      };
      signal.addEventListener("abort", () => request.abort());
      request.send(body ?? null);
    });
}

type ButtonProps = { readonly disabled: boolean; readonly limit: number; readonly onFiles: (files: File[]) => void };

export function AttachButton({ disabled, limit, onFiles }: ButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        class="unseen"
        data-testid="attach-input"
        aria-label="Files to attach"
        tabIndex={-1}
        multiple
        accept={MEDIA_TYPES.join(",")}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          // The same file can be picked again.
          event.currentTarget.value = "";
        }}
      />
      <button
        type="button"
        class="round attach"
        data-testid="attach"
        aria-label="Attach a file"
        title={`Images, PDF or plain text, up to ${sizeText(limit)} each`}
        disabled={disabled}
        onClick={() => input.current?.click()}
      >
        <Icon name="clip" />
      </button>
    </>
  );
}

type ListProps = { readonly attachments: Attachments };

/** A chip for each file, with its picture, how far it is, or what went wrong. */
export function AttachmentList({ attachments: { all, remove } }: ListProps) {
  if (all.length === 0) return null;
  return (
    <ul class="attachments" aria-label="Attached files">
      {all.map(({ key, name, size, preview, progress }) => (
        <li key={key} class={progress.kind} data-testid="attachment" data-state={progress.kind}>
          {preview === undefined ? <Icon name="clip" /> : <img src={preview} alt="" />}
          <span class="file">
            <span class="name">{name}</span>
            {progress.kind === "failed" ? (
              <span class="problem" role="alert">
                {progress.problem}
              </span>
            ) : (
              <span class="muted">{sizeText(size)}</span>
            )}
            {progress.kind === "sending" && <progress max={1} value={progress.part} aria-label={`Uploading ${name}`} />}
          </span>
          <button type="button" class="quiet clear" aria-label={`Remove ${name}`} onClick={() => remove(key)}>
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
