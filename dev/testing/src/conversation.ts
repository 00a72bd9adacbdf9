/** A conversation with tools, of which the fixture of each client dialect writes the requests. */

export interface Call {
  name: string
  input: object
  result: string
  /** The result has a picture beside its text. */
  hasPicture: boolean
}

/** The user's words or the results of the last calls, and the model's response. */
export interface Turn {
  words: string
  /** Words of the client's own, in the role of the system. */
  reminder: string | null
  thought: string | null
  /** The vendor of the thought has signed it. */
  isSigned: boolean
  said: string
  calls: Call[]
}

export interface Conversation {
  system: string
  tools: string[]
  turns: Turn[]
  /** Some vendors take no such id, and get another. */
  idPrefix: string
}

export const TOOL_SCHEMA = { type: 'object', properties: { path: { type: 'string' }, lines: { type: 'integer' } } }
export const PICTURE = 'AA=='

type Step =
  | { user: string | null; reminder: string | null; results: [id: string, call: Call][] }
  | { model: Turn; at: number }

/** The first `count` turns, the last one without its response. */
export function stepsOf({ turns }: Conversation, count: number, idOf: (at: number, of: number) => string): Step[] {
  const steps: Step[] = []
  turns.slice(0, count).forEach((each, at) => {
    const before = turns[at - 1]
    const results = before?.calls.map((made, of): [string, Call] => [idOf(at - 1, of), made]) ?? []
    const isNew = before === undefined || before.calls.length === 0
    steps.push({ user: isNew ? each.words : null, reminder: each.reminder, results })
    if (at < count - 1) steps.push({ model: each, at })
  })
  return steps
}

export const blockOf = (count: number) => `x-anthropic-billing-header: cc_version=2.1.42.a3f; cch=${count}fa0e;`
export const said = ({ said: own, calls }: Turn) => (own === '' && calls.length === 0 ? 'Done.' : own)
