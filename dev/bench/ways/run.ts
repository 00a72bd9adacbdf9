/**
 * `npm run bench -- ways`: CPU of a request by the Messages and the Responses API, translated and passed through, over that
 * of the same request by chat. The ways take turns in each launch, so a machine that drifts does so for all.
 */

import { startBackend } from '../harness/backend.ts'
import { costed } from '../harness/costs.ts'
import { runLoad, type Endpoint, type LoadOptions, type LoadResult, type Order } from '../harness/load.ts'
import { describeEnvironment, loadNow } from '../harness/machine.ts'
import { compileNative, type NativePrograms } from '../harness/native.ts'
import { watchNeighbours } from '../harness/neighbours.ts'
import { readResult, writeResult } from '../harness/results.ts'
import { PLAIN } from '../quick.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { laneOf, launchGateway } from '../subjects/gateway.ts'
import { sealTurns, SIGNING_VENDOR, type TurnsWithState } from './turns-with-state.ts'
import { reportWays, waysResult, type Turn, type WaysResult } from './report.ts'

const PART = 'ways'
/** Short, so that whole streams are counted and not their chunks: a response repeats its text at its end. */
const SHORT_STREAM: Order = { stream: true, chunks: 50, everyUs: 1_000, bytes: 20 }
/** 40 KB, as a coding tool's first request. A response repeats the tools, in three of its events. */
export const CODING_TOOL_ORDER: Order = { ...SHORT_STREAM, promptBytes: 15_000, tools: 20 }
/** In each chunk: the response by chat is then as long as the response to the same order. */
const AS_MANY_BYTES = { bytes: 1_750, capTokens: 64_000 }
const LOAD: LoadOptions = { connections: 32, seconds: 3 }
const WARM_UP: LoadOptions = { connections: 32, seconds: 2 }
/**
 * State is sealed for its account, so each of these accounts sends requests of its own. An edge that one account alone fills refuses
 * it for its share of the time.
 */
const ACCOUNTS_WITH_STATE = 8

interface Way {
  name: string
  order: Order
  endpoint: Pick<Endpoint, 'path' | 'dialect'> & { model?: string }
  /** By whose name its cost is compared. */
  over: string | null
  /** The conversation's turns with the state of reasoning, each account's with its own. */
  turns?: keyof TurnsWithState
  /** The way by which a backend's own events of the same kind pass untouched. */
  passed?: string
}

const chat = { path: '/v1/chat/completions' }
const messages = { path: '/v1/messages', dialect: 'messages' } as const
const responses = { path: '/v1/responses', dialect: 'responses' } as const
const responsesPassed = { ...responses, model: laneOf('responses') }
const WAYS: Way[] = [
  { name: 'chat', order: PLAIN, endpoint: chat, over: null },
  { name: 'messages, translated', order: PLAIN, endpoint: messages, over: 'chat', passed: 'messages, passed through' },
  {
    name: 'responses, translated',
    order: PLAIN,
    endpoint: responses,
    over: 'chat',
    passed: 'responses, passed through',
  },
  {
    name: 'messages, passed through',
    order: PLAIN,
    endpoint: { ...messages, model: laneOf('messages') },
    over: 'chat',
  },
  { name: 'responses, passed through', order: PLAIN, endpoint: responsesPassed, over: 'chat' },
  ...streamed('50 chunks', SHORT_STREAM),
  ...streamed('40 KB with tools', CODING_TOOL_ORDER),
  {
    name: 'chat, 40 KB with tools, as many bytes as a response',
    order: { ...CODING_TOOL_ORDER, ...AS_MANY_BYTES },
    endpoint: chat,
    over: 'chat, 40 KB with tools',
  },
  ...reasoning(),
]

function streamed(what: string, order: Order): Way[] {
  const over = `chat, ${what}`
  const passed = `responses, passed through, ${what}`
  return [
    { name: over, order, endpoint: chat, over: null },
    { name: `messages, translated, ${what}`, order, endpoint: messages, over },
    { name: `responses, translated, ${what}`, order, endpoint: responses, over, passed },
    { name: passed, order, endpoint: responsesPassed, over },
  ]
}

/**
 * A coding tool behind a model that reasons: eight calls with their results, and the state before each. A chat client that knows the
 * vendor keeps the state itself. One whose response is as long as the Responses API's shows the price of the bytes alone.
 */
function reasoning(): Way[] {
  const model = laneOf(SIGNING_VENDOR)
  const [byChat, long] = ["chat, 8 turns with the vendor's own state", 'the same, as many bytes as a response']
  const way = (name: string, endpoint: Way['endpoint'], turns: keyof TurnsWithState, over: string | null): Way => {
    return { name, order: CODING_TOOL_ORDER, endpoint: { ...endpoint, model }, over, turns }
  }
  return [
    way('chat, 8 turns without state', chat, 'plain', byChat),
    way(byChat, chat, 'vendor', null),
    way('chat, 8 turns with sealed state', chat, 'chat', byChat),
    way('messages, translated, 8 turns with sealed state', messages, 'messages', byChat),
    { ...way(long, chat, 'vendor', byChat), order: { ...CODING_TOOL_ORDER, ...AS_MANY_BYTES } },
    { ...way('responses, translated, 8 turns with sealed state', responses, 'responses', byChat), passed: long },
  ]
}

type LoadTotals = Pick<LoadResult, 'requests' | 'bytes'>

export interface WaysOptions {
  rounds: number
  fresh: boolean
  signal: AbortSignal
  say(line: string): void
}

export async function ways({ rounds, fresh, signal, say }: WaysOptions): Promise<void> {
  const result = await begin(fresh)
  const programs = await compileNative()
  while (result.launches.length < rounds) {
    say(`ways: launch ${result.launches.length + 1} of ${rounds}`)
    const [loadBefore, others] = [loadNow(), watchNeighbours()]
    const turns = await launchOnce(programs, signal, say)
    result.launches.push({ turns, loadBefore, loadAfter: loadNow(), othersShare: others() })
    await writeResult(PART, result)
    await writeIntoReadme(PART, reportWays(result, WAYS))
  }
}

async function begin(fresh: boolean): Promise<WaysResult> {
  const environment = describeEnvironment()
  const earlier = await readResult(PART, waysResult)
  const isSame = earlier?.environment.code === environment.code && earlier.environment.machine === environment.machine
  return isSame && !fresh ? earlier : { environment, launches: [] }
}

/** There and back. */
async function launchOnce(programs: NativePrograms, signal: AbortSignal, say: WaysOptions['say']): Promise<Turn[]> {
  await using backend = await startBackend(programs.backend)
  await using gateway = await launchGateway(backend.port, {
    dialects: ['messages', 'responses'],
    vendors: [SIGNING_VENDOR],
  })
  const accounts = await Promise.all(
    gateway.keys
      .slice(0, ACCOUNTS_WITH_STATE)
      .map(async (key) => ({ key, turns: await sealTurns(gateway.dataDir, key) })),
  )
  const run = async ({ name, endpoint, order, turns }: Way, options: LoadOptions): Promise<LoadTotals> => {
    const target = { ...gateway.endpoint, ...endpoint }
    const connections = options.connections / accounts.length
    const loads =
      turns === undefined
        ? [runLoad(programs.load, target, order, { ...options, signal })]
        : accounts.map(({ key, turns: withState }) => {
            const sent = { ...order, turns: withState[turns] }
            return runLoad(programs.load, { ...target, tokens: [key] }, sent, { ...options, connections, signal })
          })
    const results = await Promise.all(loads)
    const broken = results.find(({ failed }) => failed > 0)
    if (broken) throw new Error(`${name}: ${broken.failed} failed, the first: ${broken.firstFailure}`)
    const sum = (of: 'requests' | 'bytes') => results.reduce((total, result) => total + result[of], 0)
    return { requests: sum('requests'), bytes: sum('bytes') }
  }
  const turn = async (ways: Way[]) => {
    const costs: Turn = {}
    for (const way of ways) {
      const requests = ({ requests }: LoadTotals) => requests
      const { result, cpuMs } = await costed(gateway.processes(), () => run(way, LOAD), requests, signal)
      costs[way.name] = cpuMs
      say(`  ${way.name}: ${Math.round(result.bytes / result.requests)} bytes per answer`)
    }
    return costs
  }
  for (const way of WAYS) await run(way, WARM_UP)
  return [await turn(WAYS), await turn(WAYS.toReversed())]
}
