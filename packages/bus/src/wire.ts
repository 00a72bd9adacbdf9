/**
 * The transport that the bus needs: subjects, groups and a sign of life. Each adapter provides one.
 *
 * A wire may lose messages while it is disconnected and around a change of connection; it never throws on publish. The
 * layers above number, repeat and time out. A listener that throws is reported and disturbs nothing else.
 */

/** `noResponder`: a message with this subject as its reply address found nobody. */
export type WireListener = (
  payload: Uint8Array,
  subject: string,
  replyTo: string | undefined,
  noResponder: boolean,
) => void

export interface Wire extends AsyncDisposable {
  readonly connected: boolean
  /** The largest payload that {@link publish} takes. */
  readonly maxPayloadBytes: number
  /** Sends in order. The payload is the wire's from now on. */
  publish(subject: string, payload: Uint8Array, replyTo?: string): void
  /** `subject` may end in `.>`. With a `group`, each message goes to one of its members. Resolves when it is in force. */
  subscribe(subject: string, group: string | undefined, listener: WireListener): Promise<AsyncDisposable>
  /** Reports every later change of {@link connected}. */
  onConnection(listener: (connected: boolean) => void): void
  /** Resolves when all that was published has left this process. */
  flush(): Promise<void>
}
