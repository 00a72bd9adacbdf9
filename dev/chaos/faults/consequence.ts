/**
 * The outcome of a fault, for the checkers.
 */

/** The details that a fault may report. */
export interface Outcome {
  /** Requests whose only report was destroyed. */
  destroyed?: string[]
  victim?: string | null
  servedMs?: number
  strayed?: number
  /** The harm that a client did to others. */
  harm?: string[]
  note?: string
}
