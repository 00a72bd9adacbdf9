/**
 * Reads the family and version of a model from its name, as each platform spells it: `claude-opus-5-5`,
 * `us.anthropic.claude-opus-5-5-20260922-v1:0` (Bedrock), `claude-opus-5-5@20260922` (Vertex AI),
 * `anthropic/claude-opus-5.5` (OpenRouter). A name of another make is null.
 */

export interface ModelName {
  /** `opus`, `sonnet`; null where the name has none, as `claude-2.1`. */
  family: string | null
  /** Null where the name has no number, as `claude-mythos-preview`. */
  version: Version | null
}

/** Versions compare as their numbers do: 4.10 follows 4.9. */
export interface Version {
  major: number
  minor: number
}

export function isBefore({ major, minor }: Version, [otherMajor, otherMinor]: readonly [number, number]): boolean {
  return major < otherMajor || (major === otherMajor && minor < otherMinor)
}

const CLAUDE = /(?:^|[^a-z])claude(?![a-z])(.*)$/s
/** The words that say when or how, not which. */
const NO_FAMILY = new Set(['latest', 'preview', 'beta', 'fast', 'thinking'])
const LONGEST_NAME = 256

export function claudeName(model: string): ModelName | null {
  const rest = CLAUDE.exec(model.toLowerCase().slice(0, LONGEST_NAME))?.[1]
  if (rest === undefined) return null
  const words = rest.split(/[^a-z0-9]+/).filter((word) => word !== '')
  const family = words.find((word) => /^[a-z]{2,}$/.test(word) && !NO_FAMILY.has(word)) ?? null
  const at = words.findIndex((word) => NUMBER.test(word))
  if (at < 0) return { family, version: null }
  const minor = words[at + 1]
  return {
    family,
    version: { major: numberIn(words[at]!), minor: minor && PLAIN_NUMBER.test(minor) ? Number(minor) : 0 },
  }
}

/** A date has more digits. Bedrock writes `claude-v2:1`. */
const NUMBER = /^v?\d{1,2}$/
const PLAIN_NUMBER = /^\d{1,2}$/

function numberIn(word: string): number {
  return Number(word.replace('v', ''))
}

const GPT = /(?:^|[^a-z0-9-])gpt-(\d{1,2})(?:\.(\d{1,2}))?(?!\d)(.*)$/s
const O_SERIES = /(?:^|[^a-z0-9-])o(\d{1,2})(?![\da-z])(.*)$/s

export interface OpenAiName {
  series: 'gpt' | 'o'
  version: Version
  /** `-codex-max`, `-sol`. */
  variant: string
}

/** Azure's `gpt-35-turbo` is of version 3.5; `gpt-4o` is of 4. */
export function openAiName(model: string): OpenAiName | null {
  const name = model.toLowerCase().slice(0, LONGEST_NAME)
  const gpt = GPT.exec(name)
  if (gpt) {
    const [, major, minor = '0', variant = ''] = gpt
    return { series: 'gpt', version: { major: major === '35' ? 3 : Number(major), minor: Number(minor) }, variant }
  }
  const o = O_SERIES.exec(name)
  return o && { series: 'o', version: { major: Number(o[1]), minor: 0 }, variant: o[2]! }
}

const GEMINI = /(?:^|[^a-z0-9-])gemini(?![a-z])(?:-(\d{1,2})(?:\.(\d{1,2}))?(?!\d))?(.*)$/s

export interface GeminiName {
  /** Null where the name has no number, as `gemini-flash-latest`. */
  version: Version | null
  /** `-flash-lite-preview`. */
  variant: string
}

export function geminiName(model: string): GeminiName | null {
  const match = GEMINI.exec(model.toLowerCase().slice(0, LONGEST_NAME))
  if (match === null) return null
  const [, major, minor = '0', variant = ''] = match
  return { version: major === undefined ? null : { major: Number(major), minor: Number(minor) }, variant }
}
