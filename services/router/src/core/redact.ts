/**
 * Makes a backend's words fit for a client. It takes out the backend's own credentials, headers and address, and all
 * text of the shape of a credential, an address or an organisation's name. Shortens them, too.
 *
 * The backend's own secrets never come through, however they are written in the JSON. Where one would be left, the
 * client gets no words at all. Shapes are matched as well as can be. An address that the client wrote itself may stay.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import { isObject } from '@gateway/contracts/json'
import { readErrorBody } from './error-response.ts'

const MARK = '[redacted]'
/** A shorter text is no secret: a version, a team's number, the key of a server that needs none. */
const SHORTEST_SECRET = 8
const LONGEST_TEXT = 2_000
const LONGEST_BODY = 4_000
/** A longer body is not looked through: the client gets only its sentence. */
const LONGEST_BODY_READ = 16_000
/** Values that are nested more deeply are left out. */
const DEEPEST = 8
/** A client's own words are sought for so many addresses at the most. */
const MOST_ADDRESSES = 20

type Secrets = readonly string[]

/** All of a backend's settings that are its own business; `held`: the tokens and keys that its credential has in use. */
export function secretsOf(
  { url, apiKey, headers }: Pick<BackendConfig, 'url' | 'apiKey' | 'headers'>,
  held: Secrets = [],
): Secrets {
  const { origin, host, hostname, username, password, searchParams } = new URL(url)
  const values = [apiKey ?? '', ...held, ...Object.values(headers), username, password, ...searchParams.values()]
  const parts = values.flatMap((value) => [value, ...value.split(/[\s,;=:]+/)])
  const long = parts.filter((part) => part.length >= SHORTEST_SECRET)
  const secrets = [url, origin, host, hostname, ...long].flatMap((secret) => [secret, encodeURIComponent(secret)])
  const distinct = new Set(secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))
  return [...distinct].sort((a, b) => b.length - a.length)
}

/** The body of an error with no secret in it; null where no text can be passed on. */
export function redactBody(body: string, secrets: Secrets, requested: Buffer): string | null {
  const said = readErrorBody(body)
  if (said === null) return null
  const words = wordsOfClient(requested)
  const read = body.length <= LONGEST_BODY_READ ? said : sentenceOf(said)
  const redacted = redact(read, (text) => redactText(text, secrets, words), DEEPEST)
  const json = JSON.stringify(redacted)
  const short = json.length <= LONGEST_BODY ? json : JSON.stringify(sentenceOf(redacted))
  return holdsSecret(short, secrets) ? null : short
}

function redact(value: unknown, text: (value: string) => string, depth: number): unknown {
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === 0) return null
  if (Array.isArray(value)) return value.map((entry) => redact(entry, text, depth - 1))
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), redact(inner, text, depth - 1)]))
}

/** The sentence of a body that is too long. */
function sentenceOf(redacted: unknown): object {
  if (!isObject(redacted)) return {}
  const { error, message } = redacted
  if (typeof error === 'string') return { error }
  return isObject(error) ? { error: { message: error.message } } : { message }
}

function holdsSecret(text: string, secrets: Secrets): boolean {
  const lower = text.toLowerCase()
  return secrets.some((secret) => lower.includes(secret.toLowerCase()))
}

/** True if the client wrote this itself. */
type WordsOfClient = (words: string) => boolean

function wordsOfClient(requested: Buffer): WordsOfClient {
  let left = MOST_ADDRESSES
  return (words) => left-- > 0 && requested.includes(words)
}

function redactText(text: string, secrets: Secrets, isClients: WordsOfClient): string {
  let redacted = text
  for (const secret of secrets) redacted = replaceAll(redacted, secret)
  redacted = redacted.slice(0, 2 * LONGEST_TEXT)
  for (const shape of CREDENTIALS) redacted = redacted.replace(shape, MARK)
  for (const shape of NAMES_OF_ORGANISATIONS) redacted = redacted.replace(shape, `$1${MARK}`)
  for (const shape of ADDRESSES) redacted = redacted.replace(shape, (address) => (isClients(address) ? address : MARK))
  redacted = redacted.length <= LONGEST_TEXT ? redacted : `${redacted.slice(0, LONGEST_TEXT)}…`
  return holdsSecret(redacted, secrets) ? '' : redacted
}

/** Hosts are the same in capital letters, so nothing is taken to differ by them. */
function replaceAll(text: string, secret: string): string {
  const lower = text.toLowerCase()
  const sought = secret.toLowerCase()
  // Some letters have a lower case of another length.
  if (lower.length !== text.length) return text.replaceAll(secret, MARK)
  let redacted = ''
  let from = 0
  for (let at = lower.indexOf(sought); at >= 0; at = lower.indexOf(sought, from)) {
    redacted += text.slice(from, at) + MARK
    from = at + sought.length
  }
  return redacted + text.slice(from)
}

const CREDENTIALS = [
  /\b(?:Bearer|Basic)\s+[^\s"',;]{6,}/gi,
  /\b(?:sk|pk|rk|xai|gsk|nvapi|hf|fw|csk|pplx|tgp|r8|svc)[-_][\w*.…-]{6,}/g,
  /\bAIza[\w*-]{10,}/g,
  /\b(?:AKIA|ASIA|ABSK)[A-Za-z0-9+/=]{12,}/g,
  /\bya29\.[\w.-]{8,}/g,
  // AWS repeats the signature of the request.
  /\bSignature=[0-9a-f]{16,}/gi,
  /\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g,
  // A key of which the middle is hidden.
  /[\w-]{0,24}(?<!\*)\*{3,}[\w-]{0,24}/g,
]

const NAMES_OF_ORGANISATIONS = [
  /()\b(?:org|proj|acct|wrkspc|team|user)[-_][A-Za-z0-9]{6,}/g,
  /(\b(?:organi[sz]ation|project|workspace|tenant|account|team|subscription)(?:\s+(?:named|called|id|name))?[\s:=]+)(?:"[^"]{1,200}"|'[^']{1,200}'|`[^`]{1,200}`|“[^”]{1,200}”)/gi,
]

const ADDRESSES = [
  /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>()]+/gi,
  /\barn:[\w-]+:[^\s"',]+/gi,
  /\b[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[\w-]{1,63}\b/g,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f]*:[0-9a-f:.]+\](?::\d{1,5})?/gi,
  /\b(?:localhost|(?:[a-z0-9-]{1,63}\.){1,8}[a-z0-9-]{1,63}):\d{2,5}\b/gi,
  /\b(?:[a-z0-9-]{1,63}\.){1,8}(?:internal|local|lan|corp|svc|intranet)\b/gi,
]
