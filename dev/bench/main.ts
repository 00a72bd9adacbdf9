/**
 * `npm run bench`: the cost of the gateway, beside its peers, and its change with scale.
 *
 * Each part keeps its measurements in `bench/results` and its table in `dev/bench/README.md`. Ctrl-C ends everything in
 * order; the same command goes on where it was, as long as the gateway's code and the machine are the same.
 */

import { parseArgs } from 'node:util'
import { UsageError, reportFatal } from '@gateway/service/report-fatal'
import { stopSignal } from '@gateway/service/stop-signal'
import { beside } from './beside/run.ts'
import type { Step } from './compare/measure.ts'
import { compare } from './compare/run.ts'
import { idle } from './idle.ts'
import { monthTurn } from './month-turn.ts'
import { overload } from './overload/run.ts'
import { prefixCache } from './prefix-cache/run.ts'
import { profile } from './profile/run.ts'
import { quick } from './quick.ts'
import { quickAgainst } from './quick-against.ts'
import { receipts } from './receipts.ts'
import { semantics } from './semantics/run.ts'
import { CURVE_NAMES, scale } from './scale/run.ts'
import { soak } from './soak/run.ts'
import { bareHops } from './subjects/bare-hops.ts'
import { bareProxy } from './subjects/bare-proxy.ts'
import { bifrost } from './subjects/bifrost.ts'
import { direct } from './subjects/direct.ts'
import { gateway } from './subjects/gateway.ts'
import { litellm } from './subjects/litellm.ts'
import { backendUrl, parsePeer, peerSubject, requireNames } from './subjects/peer.ts'
import { portkey } from './subjects/portkey.ts'
import { unpublished } from './subjects/unpublished.ts'
import { ways } from './ways/run.ts'

const HELP = [
  'npm run bench -- [part] [options]',
  '',
  '  (none)   the comparison, then the scale curves',
  "  quick    a minute: the gateway's CPU per request and per chunk, by process",
  '           --against <commit>: both in turn, and the ratio; two minutes a round, --rounds 3',
  '  idle     CPU without requests, by process; with --against both side by side; three minutes',
  '  ways     the Messages and the Responses API over chat, CPU per request; --rounds 2 launches',
  '  receipts CPU per request with a signed receipt and without; --rounds 3',
  '  peers    the comparison: plain, latency and stream, of the gateway, its peers, a bare proxy and the backend direct',
  '  plain | latency | stream   one step of it',
  '  semantics  200 requests at once on a quota of 20, and responses that kill -9 takes from the ledger',
  `  scale    the curves: ${CURVE_NAMES.join(', ')}; name some to take only those`,
  '  profile  where edge and router spend their time: plain, stream',
  '  month-turn  100,000 accounts while the month turns, and while Redis is emptied and restarted',
  '  overload goodput and latency at 1, 2, 3 and 5 times the capacity; --rounds 2 launches',
  "  beside   a neighbour's latency beside one hostile guest, attack by attack",
  '  prefix-cache  the worth of warm prompt caches: sessions of a coding tool on simulated engines',
  '  soak     steady load for --minutes 60: memory and lag over time, the ledger exact at the end',
  '',
  '  --rounds 3           launches of each, in turn',
  '  --subjects a,b       only these: this gateway, bare Node proxy, bare hops, Portkey, LiteLLM, Bifrost, backend direct',
  '  --peer "name=http://127.0.0.1:8081/v1,authorization: Bearer …"   repeatable, for the comparison and semantics:',
  '                       a gateway that you run; further headers, model=… and pid=… (for its CPU) follow after commas',
  '                       for semantics, its key has a fresh quota of 20 requests, which take 100 tokens each',
  '  --backend-port 18181 with --peer: where your gateway sends the model bench, as http://127.0.0.1:18181/v1',
  '  --max-minutes 60     begin nothing new after this; the same command goes on from there',
  '  --accounts 100000, --rate 600  how many take part in month-turn, and their requests a second',
  '  --most-keys 1000000, --most-rows 10000000   how far two of the curves go',
  '  --fresh              forget the measurements of an earlier run',
  '',
].join('\n')

const SUBJECTS = [gateway, bareProxy, bareHops, portkey, litellm, bifrost, ...unpublished, direct]
const ALL_STEPS: Step[] = ['plain', 'latency', 'stream']

const stopping = new AbortController()
void stopSignal().then((name) => stopping.abort(new Error(`stopped by ${name}; the measurements are kept`)))

try {
  await run()
} catch (error) {
  if (!stopping.signal.aborted) reportFatal(error)
  process.stderr.write(`${(stopping.signal.reason as Error).message}\n`)
  process.exitCode = 130
}

async function run(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '3' },
      subjects: { type: 'string' },
      peer: { type: 'string', multiple: true, default: [] },
      'backend-port': { type: 'string', default: '18181' },
      'max-minutes': { type: 'string', default: '60' },
      fresh: { type: 'boolean', default: false },
      minutes: { type: 'string', default: '60' },
      against: { type: 'string' },
      accounts: { type: 'string', default: '100000' },
      rate: { type: 'string', default: '600' },
      'most-keys': { type: 'string', default: '1000000' },
      'most-rows': { type: 'string', default: '10000000' },
    },
  })
  const { signal } = stopping
  const say = (line: string) => void process.stderr.write(`${minutesAndSeconds(performance.now())}  ${line}\n`)
  const [part = 'all', ...names] = values.help ? ['help'] : positionals
  const rounds = integer('rounds', values.rounds)
  const minutes = integer('minutes', values.minutes)
  const mostKeys = integer('most-keys', values['most-keys'])
  const mostRows = integer('most-rows', values['most-rows'])
  const deadlineMs = Date.now() + integer('max-minutes', values['max-minutes']) * 60_000
  const peers = values.peer.map(parsePeer)
  requireNames(peers, SUBJECTS)
  const backendPort = peers.length === 0 ? 0 : integer('backend-port', values['backend-port'])
  if (backendPort !== 0) say(`each --peer must send its model bench to ${backendUrl(backendPort)}`)
  const chosen = values.subjects === undefined ? SUBJECTS : values.subjects.split(',').map(subjectNamed)
  const comparing = (steps: Step[]) =>
    compare({
      subjects: [...chosen, ...peers.map(peerSubject)],
      steps,
      rounds,
      backendPort,
      deadlineMs,
      fresh: values.fresh,
      signal,
      say,
    })
  const scaling = () =>
    scale({
      only: names,
      fresh: values.fresh,
      deadlineMs,
      mostKeys,
      mostRows,
      signal,
      say,
    })
  switch (part) {
    case 'quick':
      if (values.against === undefined) return quick(signal)
      return quickAgainst({ commit: values.against, rounds, signal, say })
    case 'idle':
      return idle({ commit: values.against, signal, say })
    case 'ways':
      return ways({ rounds, fresh: values.fresh, signal, say })
    case 'receipts':
      return receipts({ rounds, signal })
    case 'all':
      await comparing(ALL_STEPS)
      return scaling()
    case 'scale':
      return scaling()
    case 'profile':
      return profile({ only: names, signal, say })
    case 'month-turn':
      return monthTurn({
        accounts: integer('accounts', values.accounts),
        rate: integer('rate', values.rate),
        signal,
        say,
      })
    case 'overload':
      return overload({ rounds, deadlineMs, fresh: values.fresh, signal, say })
    case 'beside':
      return beside({ rounds, signal, say })
    case 'prefix-cache':
      return prefixCache({ signal, say })
    case 'semantics':
      return semantics({ peers, backendPort, signal, say })
    case 'soak':
      return soak({ minutes, signal, say })
    case 'peers':
      return comparing(ALL_STEPS)
    case 'plain':
    case 'latency':
    case 'stream':
      return comparing([part])
    default:
      if (part !== 'help') throw new UsageError(`there is no part ${part}\n\n${HELP}`)
      process.stdout.write(HELP)
  }
}

function integer(option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new UsageError(`--${option} must be a whole number of at least 1, not ${text}\n\n${HELP}`)
}

function subjectNamed(wanted: string): (typeof SUBJECTS)[number] {
  const subject = SUBJECTS.find(({ name }) => name === wanted)
  if (subject) return subject
  throw new UsageError(`there is no subject ${wanted}; there are: ${SUBJECTS.map(({ name }) => name).join(', ')}`)
}

/** Since the start: `07:42`. */
function minutesAndSeconds(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1_000)
  return [Math.floor(seconds / 60), seconds % 60].map((part) => String(part).padStart(2, '0')).join(':')
}
