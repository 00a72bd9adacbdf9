/**
 * Sessions of a coding tool, as engines behind the gateway read them. The edge's and the router's own code reads each request,
 * gives its keys and writes the body for a chat target. A chat template's order makes the prompt of it: system, tools, turns.
 *
 * A session has 40 turns, 40 kB of tools and a system prompt with the day and its folder. Its context grows by a tool's result
 * with each turn. The attribution block has another `cch` in each turn, as before version 2.1.181 of Claude Code.
 */

import { inPromptOrder } from '../../../services/edge/src/core/write-body.ts'
import { messages } from '../../../services/edge/src/requests/messages.ts'
import { affinityKeyOf, sessionOf } from '../../../services/edge/src/requests/session.ts'
import { leaveOutAttribution } from '../../../services/router/src/core/attribution.ts'
import { dialectRoute } from '../../../services/router/src/dialects/dialects.ts'
import { Prompts, type Prompt } from './prompts.ts'

export const TURNS = 40
const TOOLS = 20
const BYTES_OF_TOOL = 2_000
const BYTES_OF_SYSTEM = 12_000
const [LEAST_RESULT_BYTES, MOST_RESULT_BYTES] = [500, 5_500]

export interface Turn {
  /** As the router sends it, and as it would be with the attribution block. */
  prompt: Prompt
  promptWithBlock: Prompt
  sessionKey: string
  /** The key of a client that names no session. */
  conversationKey: string
  outputTokens: number
  /** From the end of the response to the next turn: a tool runs, or the user reads. */
  pauseMs: number
}

export type Random = () => number

export function makeSessions(count: number, random: Random): Turn[][] {
  const prompts = new Prompts()
  const tools = Array.from({ length: TOOLS }, (_, at) => ({
    name: `tool_${at}`,
    description: words(BYTES_OF_TOOL, random),
    input_schema: { type: 'object', properties: { path: { type: 'string' } } },
  }))
  const rules = words(BYTES_OF_SYSTEM, random)
  return Array.from({ length: count }, (_, at) => makeSession({ at, tools, rules, random, prompts }))
}

interface Shared {
  at: number
  tools: object[]
  rules: string
  random: Random
  prompts: Prompts
}

const { dialect } = dialectRoute('messages', ['chat'])

function makeSession({ at, tools, rules, random, prompts }: Shared): Turn[] {
  const account = `account-${at % 10}`
  const place = `Working directory: /home/dev-${at}/project\nToday's date: 2026-11-${10 + (at % 20)}`
  const turns: object[] = [{ role: 'user', content: words(300, random) }]
  return Array.from({ length: TURNS }, (_, turn): Turn => {
    const cch = Math.floor(random() * 2 ** 20).toString(16)
    const block = `x-anthropic-billing-header: cc_version=2.1.42.a3f; cc_entrypoint=cli; cch=${cch};`
    const system = [block, 'You are a coding agent.', rules, place].map((text) => ({ type: 'text', text }))
    const request = messages({ model: 'm', max_tokens: 4_096, system, tools, messages: turns }, [])
    const headers = { 'x-claude-code-session-id': `session-${at}` }
    const body = Buffer.from(inPromptOrder(request.body, request.members ?? []))
    const written: Turn = {
      prompt: prompts.read(templated(leaveOutAttribution(body))),
      promptWithBlock: prompts.read(templated(body)),
      sessionKey: affinityKeyOf(account, sessionOf(headers, request.session)!),
      conversationKey: request.conversationKey!(),
      outputTokens: Math.round(between(50, 400, random)),
      // Each eighth turn or so the user reads first.
      pauseMs: random() < 1 / 8 ? between(15_000, 60_000, random) : between(300, 4_000, random),
    }
    const id = `call_${at}_${turn}`
    const result = words(between(LEAST_RESULT_BYTES, MOST_RESULT_BYTES, random), random)
    turns.push(
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'tool_1', input: { path: words(60, random) } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: result }] },
    )
    return written
  })
}

interface ChatBody {
  tools: object[]
  messages: { role: string; content: unknown; tool_calls?: object[] }[]
}

/** The prompt that a chat template makes of a body. */
function templated(body: Buffer): string {
  const clientRequest = { kind: 'chat', body, model: 'm', stream: true, maxTokens: undefined, form: [] } as const
  const { messages: said, tools } = JSON.parse(dialect.request(clientRequest).body.toString()) as ChatBody
  const [system, ...turns] = said.map(({ role, content, tool_calls: calls }) => {
    return `<${role}>${typeof content === 'string' ? content : JSON.stringify(content)}${JSON.stringify(calls ?? [])}`
  })
  return [system, JSON.stringify(tools), ...turns].join('\n')
}

const SYLLABLES = ['re', 'so', 'lu', 'ta', 'mi', 'ne', 'co', 'di', 'va', 'per', 'on', 'ex', 'al', 'ur']

function words(bytes: number, random: Random): string {
  let text = ''
  while (text.length < bytes)
    text += `${SYLLABLES[Math.floor(random() * SYLLABLES.length)]}${random() < 0.4 ? ' ' : ''}`
  return text.slice(0, bytes)
}

export function between(least: number, most: number, random: Random): number {
  return least + random() * (most - least)
}
