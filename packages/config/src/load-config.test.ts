import fc from 'fast-check'
import { PRICE_LIST } from '@gateway/pricing/list-rates'
import { describe, expect, test } from 'vitest'
import { ConfigError } from './config-error.ts'
import { loadConfig, loadDefaultConfig } from './load-config.ts'

/** The places and messages of a file's mistakes. */
function problemsOf(text: string): string[] {
  try {
    loadConfig(text, 'gateway.yaml')
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map(({ line, column, field, message }) => `${line}:${column} ${field}: ${message}`)
    throw error
  }
  return []
}

const BACKENDS = `backends:
  - id: gpu-a
    url: http://gpu-a:8000/v1
`
const POOLS = `pools:
  - id: spark
    targets:
      - { backend: gpu-a, model: qwen }
`

describe('a file replaces the sections that it names', () => {
  test('none: everything is the default', () => {
    for (const text of ['', '# nothing yet\n', '{}'])
      expect(loadConfig(text, 'x').config).toEqual(loadDefaultConfig().config)
  })

  test('plans alone: its plans, and the default rest', () => {
    const plans = `plans:
  - { slug: guest-device, limit: 1, rpm: 1, tpm: 1, perDay: 1, guest: true }
  - { slug: team, limit: 1, rpm: 1, tpm: 1, default: true }
`
    const { config } = loadConfig(plans, 'x')
    const { config: defaults } = loadDefaultConfig()
    expect(config.plans.map(({ slug }) => slug)).toEqual(['guest-device', 'team'])
    expect({ ...config, revision: '', plans: [] }).toEqual({ ...defaults, revision: '', plans: [] })
  })

  test('backends and pools: the default models that those pools serve, and a notice about the others', () => {
    const { config, notices } = loadConfig(BACKENDS + POOLS, 'x')
    expect(config.models.map(({ id }) => id)).toEqual(['svc-best', 'svc-instant', 'svc-chat-sm'])
    expect(notices).toEqual([
      expect.stringMatching(/^default models that are not served, .*: svc-fast, svc-core, .*svc-reason$/),
    ])
  })

  test('backends alone: refused with the sections to add, since no model names them', () => {
    expect(problemsOf(BACKENDS)).toEqual([
      expect.stringMatching(/^1:1 backends: are named without pools: .* add a `pools` section/),
    ])
  })
})

describe('a problem is placed by line, column and field', () => {
  test.each<[string, string, string]>([
    [
      'a field of the wrong type',
      `${BACKENDS}    maxConcurrent: many\n${POOLS}`,
      '4:5 backends[0].maxConcurrent: expected number, received string',
    ],
    [
      'a missing field, at what it is missing from',
      `backends:\n  - id: gpu-a\n${POOLS}`,
      '2:5 backends[0].url: is required: expected string',
    ],
    [
      'an unknown field',
      `${BACKENDS}    colour: red\n${POOLS}`,
      '4:5 backends[0].colour: is not a field of the config file here',
    ],
    ['an unknown section', `${BACKENDS}${POOLS}plan: []\n`, '8:1 plan: is not a field of the config file here'],
    [
      'an address that is none',
      `backends:\n  - { id: gpu-a, url: gpu-a }\n${POOLS}`,
      '2:18 backends[0].url: must be an http or https address such as https://api.openai.com/v1',
    ],
    [
      'a word that is not one of the known',
      `${BACKENDS}    dialect: cohere\n${POOLS}`,
      '4:5 backends[0].dialect: expected one of "openai"|"anthropic"',
    ],
    [
      'an item of a list',
      `${BACKENDS}    capabilities:\n      - chat\n      - sing\n${POOLS}`,
      '6:9 backends[0].capabilities[1]: expected one of "chat"|"tools"|"vision"|"embeddings"|"images"',
    ],
    [
      'a reference to nothing',
      `${BACKENDS}pools:\n  - id: spark\n    targets:\n      - { backend: gpu-b, model: qwen }\n`,
      '7:11 pools[0].targets[0].backend: "gpu-b" is not the id of a backend; expected one of gpu-a',
    ],
    ['a section that is not a list', 'plans: none\n', '1:1 plans: expected array, received string'],
    ['a file that is not a map', '- a\n- b\n', '1:1 : expected object, received array'],
    [
      'a model of an unknown type',
      `models:\n  - { id: m, type: video, pool: spark }\n`,
      "2:14 models[0].type: expected 'chat' | 'embeddings' | 'images' | 'auto'",
    ],
    [
      'a date that is none',
      `models:\n  - { id: m, type: chat, pool: spark, multiplier: 1, sunsetAt: soon }\n`,
      '2:54 models[0].sunsetAt: must be a date such as 2026-01-01',
    ],
    ['a tab', 'backends:\n\t- id: a\n', '2:1 : is not valid YAML: Tabs are not allowed as indentation'],
    [
      'an open bracket',
      'plans: [\n',
      '2:1 : is not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['the same field twice', 'plans: []\nplans: []\n', '2:1 : is not valid YAML: Map keys must be unique'],
    [
      'an alias without its anchor',
      'plans: []\nmodels: *modles\n',
      '2:9 : is not valid YAML: Unresolved alias (the anchor must be set before the alias): modles',
    ],
  ])('%s', (_, text, problem) => {
    expect(problemsOf(text)).toEqual([problem])
  })

  test('inside the content of an anchor', () => {
    const text = `backends:\n  - id: gpu-a\n    url: http://gpu-a/v1\n    timeouts: &slow { idleMs: 0 }\n  - id: gpu-b\n    url: http://gpu-b/v1\n    timeouts: *slow\n${POOLS}`
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^4:23 backends\[0\].timeouts.idleMs: /),
      expect.stringMatching(/^4:23 backends\[1\].timeouts.idleMs: /),
    ])
  })

  test('and all of them are reported at once, readably', () => {
    const text = `backends:\n  - id: GPU A\n    url: gpu\n${POOLS}`
    expect(() => loadConfig(text, 'deploy/gateway.yaml')).toThrow(
      [
        'The configuration in deploy/gateway.yaml cannot be used (2 problems):',
        '  deploy/gateway.yaml:2:5  backends[0].id: must be lower-case letters, digits, - and _, at most 63',
        '  deploy/gateway.yaml:3:5  backends[0].url: must be an http or https address such as https://api.openai.com/v1',
      ].join('\n'),
    )
  })
})

describe("a direct model's rates", () => {
  const direct = (
    fields: string,
  ) => `${BACKENDS}${POOLS}models:\n  - { id: svc-x, type: chat, pool: spark, multiplier: 1 }
  - { type: chat, pool: spark, direct: true, ${fields} }\n`
  const ratesOf = (text: string) => {
    const model = loadConfig(text, 'x').config.models[1]
    return model?.type === 'chat' ? model.rates : undefined
  }

  test("come from the vendor's list, which they name with its day", () => {
    expect(ratesOf(direct('id: gpt-5, ownedBy: openai'))).toEqual({
      ...{ inputUsdPerMillion: 1.25, cachedInputUsdPerMillion: 0.125, outputUsdPerMillion: 10 },
      ...PRICE_LIST,
    })
  })

  test('are those of the file where it names any, as a whole', () => {
    const text = direct('id: gpt-5, ownedBy: openai, rates: { inputUsdPerMillion: 1, outputUsdPerMillion: 8 }')
    expect(ratesOf(text)).toEqual({ inputUsdPerMillion: 1, outputUsdPerMillion: 8 })
  })

  test.each([
    ['id: gpt-99, ownedBy: openai', '"gpt-99" of "openai"'],
    ['id: gpt-5', '"gpt-5" of "svc"'],
  ])('that nobody knows are refused at its place, never taken for nothing: %s', (fields, named) => {
    expect(problemsOf(direct(fields))).toEqual([
      expect.stringMatching(
        new RegExp(`^10:5 models\\[1\\].rates: is required: .* no list rate is known for ${named}`),
      ),
    ])
  })

  test('that the list announces to change are reported', () => {
    expect(loadConfig(direct('id: gemini-3.6-flash, ownedBy: google'), 'x').notices).toEqual([
      expect.stringMatching(/^the rates of gemini-3.6-flash change on 2027-01-01/),
    ])
    expect(loadDefaultConfig().notices).toEqual([])
  })
})

describe('the revision', () => {
  const revisionOf = (text: string) => loadConfig(text, 'x').config.revision
  const original = revisionOf(BACKENDS + POOLS)

  test.each([
    ['comments and blank lines', `# ours\n\n${BACKENDS}\n${POOLS}`],
    ['the order of sections and fields', `${POOLS}backends:\n  - url: http://gpu-a:8000/v1\n    id: gpu-a\n`],
    [
      'defaults that are spelled out',
      `${BACKENDS}    dialect: openai\n    maxConcurrent: 64\n    timeouts: { connectMs: 2000 }\n${POOLS}`,
    ],
    [
      'JSON instead of YAML',
      '{"backends":[{"id":"gpu-a","url":"http://gpu-a:8000/v1"}],"pools":[{"id":"spark","targets":[{"backend":"gpu-a","model":"qwen"}]}]}',
    ],
    ['settings that are spelled out', `${BACKENDS}${POOLS}signIn: { groupsClaim: groups }\naudit: {}\n`],
  ])('does not change with %s', (_, text) => {
    expect(revisionOf(text)).toBe(original)
  })

  test.each([
    ['a limit', `${BACKENDS}    maxConcurrent: 65\n${POOLS}`],
    ['the name of a role', `${BACKENDS}${POOLS}operators: { owner: admins }\n`],
    ['the retention of the audit log', `${BACKENDS}${POOLS}audit: { retentionDays: 30 }\n`],
    ['an address', `${BACKENDS.replace('8000', '8001')}${POOLS}`],
    ['the order of targets, which breaks ties', `${BACKENDS}${POOLS}      - { backend: gpu-a, model: other }\n`],
  ])('changes with %s', (_, text) => {
    expect(revisionOf(text)).not.toBe(original)
  })

  test('is twelve hex digits', () => {
    expect(original).toMatch(/^[0-9a-f]{12}$/)
  })
})

test('secrets are not resolved here: only the router may hold them', () => {
  const text = `${BACKENDS}    apiKey: \${PATH}\n    headers: { x-team: "\${HOME}" }\n${POOLS}`
  expect(loadConfig(text, 'x').config.backends[0]).toMatchObject({
    apiKey: '${PATH}',
    headers: { 'x-team': '${HOME}' },
  })
})

describe('for any content of a file', () => {
  const word = fc.constantFrom('backends', 'pools', 'models', 'plans', 'id', 'url', '__proto__', '<<', '~', '1e9', '')
  const piece = fc.oneof(
    word,
    fc.constantFrom(...[': ', '- ', '\n', '\n  ', '&a ', '*a', '*b', '!!js ', '!x ', '[', ']', '{', '}', ', ', '|\n']),
    fc.constantFrom(...['"', "'", '#', '? ', '---\n', '...\n', '%YAML 9\n', '\0', '\uFEFF', '\t', '${X}', '@', '`']),
    fc.string({ maxLength: 4 }),
  )
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))

  test('it is taken, or refused with its problems: nothing else is thrown', () => {
    fc.assert(
      fc.property(text, (any) => void problemsOf(any)),
      { numRuns: 2_000 },
    )
  })

  test.each<[string, string]>([
    ['aliases that multiply', `a: &a [${'x,'.repeat(99)}]\nb: &b [${'*a,'.repeat(99)}]\nc: [${'*b,'.repeat(99)}]\n`],
    ['an anchor inside itself', 'plans: &a [*a]\n'],
    ['a map inside itself', 'backends: &a\n  - &b { id: x, headers: *b }\n'],
    ['lists within lists', `plans: ${'['.repeat(20_000)}`],
    ['many documents', 'plans: []\n---\nplans: []\n'],
    ['bytes that are no text', '\0\u0001\uFFFD'],
  ])('%s are refused', (_, any) => {
    expect(problemsOf(any)).not.toEqual([])
  })
})
