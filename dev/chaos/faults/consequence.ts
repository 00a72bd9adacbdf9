/**
 * What a strike leaves for the judge.
 */

/** What a fault may have to say for itself. */
export interface Outcome {
  /** Requests whose only report was destroyed. */
  destroyed?: string[]
  victim?: string | null
  servedMs?: number
  strayed?: number
  /** What a client did to others. */
  harm?: string[]
  note?: string
}
