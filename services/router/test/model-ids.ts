/** Names of models that nobody has published, spelled as each platform spells them. */

import fc from 'fast-check'

const MADE_UP = fc
  .stringMatching(/^[a-z]{4,9}$/)
  .filter((word) => !/^(?:opus|sonnet|haiku|fable|mythos|instant|claude|latest|preview|beta|fast|thinking)$/.test(word))
const minor = fc.option(fc.nat({ max: 12 }), { nil: undefined })
const date = fc.option(fc.constantFrom('20270214', '20281101'), { nil: undefined })
const word = fc.constantFrom('', '', '-preview', '-fast', '-latest')

interface Parts {
  family: string
  major: number
  minor: number | undefined
  date: string | undefined
  word: string
}

const ofKnownFamily = fc.record({
  family: fc.constantFrom('opus', 'sonnet', 'haiku', 'fable', 'mythos'),
  major: fc.integer({ min: 6, max: 24 }),
  minor,
  date,
  word,
})
const ofNewFamily = fc.record({ family: MADE_UP, major: fc.integer({ min: 1, max: 24 }), minor, date, word })

const joined = (...parts: (string | number | undefined)[]) => parts.filter((part) => part !== undefined).join('-')
const dotted = ({ major, minor: below }: Parts) => (below === undefined ? `${major}` : `${major}.${below}`)

/** Every way to spell one model of Anthropic's. */
export const CLAUDE_SPELLINGS: Record<string, (parts: Parts) => string> = {
  Anthropic: ({ family, major, minor: below, date: day, word: end }) =>
    joined('claude', family, major, below, day) + end,
  'Amazon Bedrock': ({ family, major, minor: below, date: day }) =>
    `us.anthropic.${joined('claude', family, major, below, day)}-v1:0`,
  'Amazon Bedrock, anywhere': ({ family, major, minor: below }) =>
    `global.anthropic.${joined('claude', family, major, below)}`,
  'Vertex AI': ({ family, major, minor: below, date: day }) =>
    joined('claude', family, major, below) + (day === undefined ? '' : `@${day}`),
  OpenRouter: (parts) => `anthropic/claude-${parts.family}-${dotted(parts)}`,
  'the number first': ({ family, major, minor: below }) => joined('claude', major, below, family),
  'in capitals': ({ family, major }) => `Claude-${family[0]!.toUpperCase()}${family.slice(1)}-${major}`,
}

const spelledBy = (parts: fc.Arbitrary<Parts>) =>
  fc.tuple(parts, fc.constantFrom(...Object.values(CLAUDE_SPELLINGS))).map(([one, spell]) => spell(one))

export const futureClaude = fc.oneof(
  spelledBy(fc.oneof(ofKnownFamily, ofNewFamily)),
  fc.constantFrom('claude-opus-latest', 'claude-next', 'claude-7', 'claude-sonnet-6-2', 'claude-fable-5-2'),
)

const gptPrefix = fc.constantFrom('', 'openai/', 'openai.', 'us.openai.')
const variant = fc.constantFrom('', '-mini', '-terra', '-2027-03-01', '-codex', '-pro')

export const futureGpt = fc
  .tuple(gptPrefix, fc.integer({ min: 7, max: 24 }), minor, variant, fc.boolean())
  .map(([prefix, major, below, end, isOSeries]) =>
    isOSeries && below === undefined && end !== '-codex'
      ? `${prefix}o${major}${end}`
      : `${prefix}gpt-${major}${below === undefined ? '' : `.${below}`}${end}`,
  )

export const futureGemini = fc
  .tuple(
    fc.constantFrom('', 'models/', 'google/'),
    fc.integer({ min: 4, max: 24 }),
    minor,
    fc.constantFrom('', '-flash', '-pro', '-flash-lite', '-pro-preview', '-ultra-05-2027'),
  )
  .map(([prefix, major, below, end]) => `${prefix}gemini-${major}${below === undefined ? '' : `.${below}`}${end}`)
