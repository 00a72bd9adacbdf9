import { describe, expect, test } from 'vitest'
import { checkConfig } from './check-config.ts'
import { completeConfig, type ListPrices } from './complete-config.ts'
import { configFile, type ConfigFileInput, type ConfigSections } from './config.ts'

const gpu = { id: 'gpu', url: 'http://gpu/v1', capabilities: ['chat' as const] }
const vectors = { id: 'vectors', url: 'http://vectors/v1', capabilities: ['embeddings' as const] }
const chatPool = { id: 'chat', targets: [{ backend: 'gpu', model: 'qwen' }] }
const embedPool = { id: 'embed', targets: [{ backend: 'vectors', model: 'bge' }] }
const auto = { id: 'svc-best', type: 'auto' as const, lanes: ['svc-instant'] }
const instant = { id: 'svc-instant', type: 'chat' as const, pool: 'chat', multiplier: 1 }
const embed = { id: 'svc-embed', type: 'embeddings' as const, pool: 'embed' }
const guestPlan = { slug: 'guest-device', limit: 1, rpm: 1, tpm: 1, perDay: 1, guest: true }
const defaultPlan = { slug: 'free', limit: 1, rpm: 1, tpm: 1, default: true }

const small: Required<Pick<ConfigFileInput, keyof ConfigSections>> = {
  backends: [gpu, vectors],
  pools: [chatPool, embedPool],
  models: [auto, instant, embed],
  plans: [guestPlan, defaultPlan],
}

/** A price list that knows the models of vendors and no others. */
const prices: ListPrices = {
  ratesOf: ({ ownedBy }) => (ownedBy === 'svc' ? undefined : rates),
  toolsOf: () => ({ web_search: 0.01 }),
}

/** `path: message` of each problem of the small config with some sections replaced. */
function problemsOf(replaced: ConfigFileInput): string[] {
  const file = configFile.parse({ ...small, ...replaced })
  return checkConfig(completeConfig(file, prices).sections).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const lane = { id: 'm', type: 'chat' as const, pool: 'chat', multiplier: 1 }
const plan = { slug: 'x', limit: 1, rpm: 1, tpm: 1 }
const rates = { inputUsdPerMillion: 1, outputUsdPerMillion: 2 }

test('a configuration whose parts fit has no problems', () => {
  expect(problemsOf({})).toEqual([])
})

describe('a tool that vendors run', () => {
  const chat = (fields: object) => problemsOf({ models: [{ ...lane, ...fields }] })

  test('may be allowed where it has a price', () => {
    expect(chat({ hostedTools: ['web_search'] })).toEqual([])
    expect(chat({ hostedTools: ['image_generation'], toolUsdPerCall: { image_generation: 0.25 } })).toEqual([])
  })

  test('is refused without one, with its line, and on a model that holds no conversations', () => {
    expect(chat({ hostedTools: ['web_search', 'image_generation'] })).toEqual([
      expect.stringContaining('models.0.hostedTools.1: "image_generation" has no list price'),
    ])
    const images = { type: 'images' as const, hostedTools: ['web_search' as const] }
    expect(chat(images)).toContainEqual('models.0.hostedTools.0: belongs to chat models only')
  })
})

describe('ids are unique', () => {
  test.each<[string, ConfigFileInput, string]>([
    [
      'backends',
      { backends: [...small.backends, gpu] },
      'backends.2.id: "gpu" is already taken by backends[0]; each id must be unique',
    ],
    [
      'pools',
      { pools: [...small.pools, embedPool] },
      'pools.2.id: "embed" is already taken by pools[1]; each id must be unique',
    ],
    [
      'models',
      { models: [...small.models, embed] },
      'models.3.id: "svc-embed" is already taken by models[2]; each id must be unique',
    ],
    [
      'plans',
      { plans: [...small.plans, { ...plan, slug: 'free' }] },
      'plans.2.slug: "free" is already taken by plans[1]; each slug must be unique',
    ],
  ])('among %s', (_, replaced, problem) => {
    expect(problemsOf(replaced)).toEqual([problem])
  })
})

describe('each reference names something that exists and is able to do its job', () => {
  test.each<[string, ConfigFileInput, string[]]>([
    [
      "a pool's backend",
      {
        pools: [
          ...small.pools,
          {
            id: 'p',
            targets: [
              { backend: 'gpu', model: 'a' },
              { backend: 'gpu-x', model: 'a' },
            ],
          },
        ],
      },
      ['pools.2.targets.1.backend: "gpu-x" is not the id of a backend; expected one of gpu, vectors'],
    ],
    [
      "a model's pool",
      { models: [{ ...lane, pool: 'chats' }] },
      ['models.0.pool: "chats" is not the id of a pool; expected one of chat, embed'],
    ],
    [
      "a pool's backend for the model's type",
      { models: [{ ...lane, pool: 'embed' }] },
      ['models.0.pool: "embed" cannot serve chat: "chat" is not among the capabilities of vectors'],
    ],
    [
      'a lane',
      { models: [lane, { id: 'a', type: 'auto', lanes: ['m', 'n'] }] },
      ['models.1.lanes.1: "n" is not the id of a model'],
    ],
    [
      'a lane that is chat',
      { models: [...small.models, { id: 'a', type: 'auto', lanes: ['svc-embed', 'svc-best'] }] },
      [
        'models.3.lanes.0: "svc-embed" is of type embeddings; a lane must be a chat model',
        'models.3.lanes.1: "svc-best" is of type auto; a lane must be a chat model',
      ],
    ],
    [
      'a shadow that is a lane',
      { models: [lane, { id: 'a', type: 'auto', lanes: ['m'], shadow: 'n' }] },
      ['models.1.shadow: "n" is not among the lanes'],
    ],
    [
      'a lane that has a multiplier',
      {
        models: [
          { id: 'd', type: 'chat', pool: 'chat', direct: true, rates },
          { id: 'a', type: 'auto', lanes: ['d'] },
        ],
      },
      ['models.1.lanes.0: "d" is a direct vendor model; a lane must have a multiplier'],
    ],
    [
      'a lane once',
      { models: [lane, { id: 'a', type: 'auto', lanes: ['m', 'm'] }] },
      ['models.1.lanes.1: "m" is listed twice'],
    ],
    [
      'a replacement',
      { models: [{ ...lane, replacement: 'gone' }] },
      ['models.0.replacement: "gone" is not the id of a model'],
    ],
    [
      'a replacement that is another model',
      { models: [{ ...lane, replacement: 'm' }] },
      ['models.0.replacement: "m" is the model itself'],
    ],
  ])('%s', (_, replaced, problems) => {
    expect(problemsOf(replaced)).toEqual(problems)
  })
})

describe('every model has exactly one price', () => {
  test.each<[string, ConfigFileInput['models'], string[]]>([
    ['a multiplier', [lane], []],
    ["its replacement's multiplier", [lane, { id: 'old', type: 'chat', pool: 'chat', replacement: 'm' }], []],
    ['1x for embeddings', [{ id: 'e', type: 'embeddings', pool: 'embed' }], []],
    ['rates where it is direct', [{ id: 'd', type: 'chat', pool: 'chat', direct: true, rates }], []],
    [
      'a chat lane without any',
      [{ id: 'm', type: 'chat', pool: 'chat' }],
      ['models.0.multiplier: is required, unless the model is direct or has a replacement'],
    ],
    [
      'direct without rates',
      [{ id: 'm', type: 'chat', pool: 'chat', direct: true }],
      [
        'models.0.rates: is required: a direct model is billed at vendor rates, and no list rate is known for "m" of ' +
          '"svc" (ownedBy names the vendor: openai, anthropic, google, …)',
      ],
    ],
    [
      'direct with a multiplier',
      [{ ...lane, direct: true, rates }],
      ['models.0.multiplier: has no meaning on a direct model, which is billed at its rates'],
    ],
    ['rates without direct', [{ ...lane, rates }], ['models.0.rates: belongs to direct models only (direct: true)']],
  ])('%s', (_, models, problems) => {
    expect(problemsOf({ models })).toEqual(problems)
  })
})

test('a model for guests is not for paid plans only', () => {
  expect(problemsOf({ models: [{ ...lane, guest: true, availability: 'paid' }] })).toEqual([
    'models.0.guest: cannot be true where availability is paid: guests do not pay',
  ])
})

test('a model is not gone before it is deprecated', () => {
  const dates = { deprecatedAt: '2026-06-01', sunsetAt: '2026-05-01' }
  expect(problemsOf({ models: [{ ...lane, ...dates }] })).toEqual([
    'models.0.sunsetAt: must not be before deprecatedAt (2026-06-01)',
  ])
})

describe('plans', () => {
  test.each<[string, NonNullable<ConfigFileInput['plans']>, string[]]>([
    [
      'no default',
      [guestPlan, plan],
      ['plans: must have one plan with `default: true` (the plan of new accounts); there is none'],
    ],
    [
      'no guest plan',
      [defaultPlan],
      ['plans: must have one plan with `guest: true` (the plan of guest keys); there is none'],
    ],
    [
      'two defaults',
      [guestPlan, defaultPlan, { ...plan, default: true }],
      ['plans.2.default: may be true on one plan only (the plan of new accounts), and plans[1] is that already'],
    ],
    [
      'a guest plan of another name',
      [{ ...guestPlan, slug: 'guests' }, defaultPlan],
      ['plans.0.slug: must be "guest-device" on the guest plan'],
    ],
    [
      'a guest plan without a daily cap',
      [{ ...plan, slug: 'guest-device', guest: true }, defaultPlan],
      ['plans.0.perDay: is required on the guest plan'],
    ],
    [
      'a guest plan that is paid',
      [{ ...guestPlan, paid: true }, defaultPlan],
      ['plans.0.paid: cannot be true on the guest plan'],
    ],
    [
      'dollars without pay-as-you-go',
      [...small.plans, { ...plan, unit: 'usd' }],
      ['plans.2.unit: may be usd on a pay-as-you-go plan only'],
    ],
    [
      'pay-as-you-go in tokens',
      [...small.plans, { ...plan, payAsYouGo: true }],
      ['plans.2.unit: must be usd on a pay-as-you-go plan'],
    ],
    [
      'more dollars than can be counted exactly',
      [...small.plans, { ...plan, unit: 'usd', payAsYouGo: true, limit: 1e9 }],
      ['plans.2.limit: must be 1000000 dollars at the most'],
    ],
  ])('%s: refused', (_, plans, problems) => {
    expect(problemsOf({ plans })).toEqual(problems)
  })
})

describe('where a file leaves sections out', () => {
  const problemsOfFile = (input: ConfigFileInput) => {
    const file = configFile.parse(input)
    const named = new Set(Object.keys(file) as (keyof ConfigSections)[])
    return checkConfig(completeConfig(file, prices).sections, named).map(
      ({ path, message }) => `${path.join('.')}: ${message}`,
    )
  }

  test('backends without pools are one problem, reported once and not for each default pool', () => {
    expect(problemsOfFile({ backends: small.backends })).toEqual([
      expect.stringMatching(/^backends: are named without pools/),
    ])
  })

  test('backends with the ids of the default ones need no pools', () => {
    const url = 'http://elsewhere/v1'
    const capabilities = ['chat' as const, 'embeddings' as const, 'images' as const]
    expect(
      problemsOfFile({ backends: ['simulated-a', 'simulated-b'].map((id) => ({ id, url, capabilities })) }),
    ).toEqual([])
  })

  test('pools that no default model is served by need models', () => {
    expect(problemsOfFile({ backends: small.backends, pools: small.pools.slice(0, 1) })).toEqual([
      'pools: serve none of the default models: name a pool as those do (spark, bolt, nova, …) or add a `models` section',
    ])
  })

  test('Auto keeps the lanes that are left', () => {
    const pools = ['spark', 'code'].map((id) => ({ id, targets: [{ backend: 'gpu', model: 'qwen' }] }))
    const { sections } = completeConfig(configFile.parse({ backends: small.backends, pools }), prices)
    expect(sections.models.map((model) => model.id)).toEqual(['svc-best', 'svc-instant', 'svc-code', 'svc-chat-sm'])
    expect(sections.models[0]).toMatchObject({ lanes: ['svc-instant', 'svc-code'] })
  })
})

describe('a file that extends the defaults', () => {
  const complete = (input: ConfigFileInput) =>
    completeConfig(configFile.parse({ extends: 'default', ...input }), prices)
  const LEGACY = ['svc-ultra', 'svc-ultra-pro', 'svc-ultra-research', 'svc-chat-sm', 'svc-chat-md', 'svc-chat-lg']

  test('with nothing in it is the defaults', () => {
    expect(complete({}).sections).toEqual(completeConfig(configFile.parse({}), prices).sections)
  })

  test('keeps every model that it does not name, in place, and puts new ones at the end', () => {
    const renamed = { id: 'svc-core', type: 'chat' as const, pool: 'nova', multiplier: 2 }
    const { models } = complete({ models: [renamed, lane].map((one) => ({ ...one, pool: 'nova' })) }).sections
    const defaults = completeConfig(configFile.parse({}), prices).sections.models
    expect(models.map(({ id }) => id)).toEqual([...defaults.map(({ id }) => id), 'm'])
    expect(models.find(({ id }) => id === 'svc-core')).toMatchObject({ multiplier: 2 })
    // A legacy model has the price of its replacement.
    expect(models.find(({ id }) => id === 'svc-ultra')).toMatchObject({ multiplier: 2 })
  })

  test('on real backends serves legacy ids where it serves their replacements, and nothing by the simulated ones', () => {
    const tiers = ['svc-instant', 'svc-fast', 'svc-core', 'svc-pro', 'svc-research'].map((id) => ({ ...lane, id }))
    const { sections, unservedModels } = complete({ backends: [gpu], pools: [chatPool], models: tiers })
    expect(sections.backends.map(({ id }) => id)).toEqual(['gpu'])
    const ids = sections.models.map(({ id }) => id)
    expect(ids).toEqual(['svc-best', ...tiers.map(({ id }) => id), ...LEGACY, 'svc-reason'])
    expect(unservedModels).toEqual(expect.arrayContaining(['svc-max', 'svc-image', 'svc-embed']))
    expect(checkConfig(sections)).toEqual([])
  })

  test('keeps the plans, with its own in their place', () => {
    const { plans } = complete({ plans: [{ ...plan, slug: 'pro', paid: true }, plan] }).sections
    expect(plans.map(({ slug, rpm }) => [slug, rpm])).toEqual([
      ['guest-device', 10],
      ['free', 60],
      ['pro', 1],
      ['payg', 600],
      ['x', 1],
    ])
  })
})

describe('the default model', () => {
  test.each<[string, ConfigFileInput['models'], string[]]>([
    ['one chat model', [{ ...lane, default: true }], []],
    ['Auto', [lane, { id: 'a', type: 'auto', lanes: ['m'], default: true }], []],
    [
      'two',
      [
        { ...lane, default: true },
        { id: 'a', type: 'auto', lanes: ['m'], default: true },
      ],
      ['models.1.default: may be true on one chat model only, and models[0] is that already'],
    ],
    [
      'an embeddings model',
      [{ ...embed, default: true }],
      ['models.0.default: has no meaning here: embeddings requests name their model'],
    ],
  ])('%s', (_, models, problems) => {
    expect(problemsOf({ models })).toEqual(problems)
  })
})

describe('aliases', () => {
  const named = (id: string, ...aliases: string[]) => ({ ...lane, id, aliases })

  test.each<[string, ConfigFileInput['models'], string[]]>([
    ['of several models', [named('a', 'gpt-5', 'o3'), named('b', 'claude-sonnet-4-5')], []],
    [
      'that is the id of a model',
      [named('a', 'b'), lane, named('b')],
      ['models.0.aliases.0: "b" is the id of models[2]'],
    ],
    ['that is the id of its own model', [named('a', 'a')], ['models.0.aliases.0: "a" is the id of models[0]']],
    [
      'of two models',
      [named('a', 'x'), named('b', 'y', 'x')],
      ['models.1.aliases.1: "x" is already an alias of models[0]'],
    ],
    ['named twice', [named('a', 'x', 'x')], ['models.0.aliases.1: "x" is already an alias of models[0]']],
    [
      'that are listed and are none',
      [{ ...lane, listed: true }],
      ['models.0.listed: has no meaning here: the model has no aliases'],
    ],
  ])('%s', (_, models, problems) => {
    expect(problemsOf({ models })).toEqual(problems)
  })

  test('of a file that extends the defaults may not be a default model’s id', () => {
    const { sections } = completeConfig(
      configFile.parse({ extends: 'default', models: [{ ...named('a', 'svc-core'), pool: 'nova' }] }),
      prices,
    )
    const problems = checkConfig(sections)
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('"svc-core" is the id of models[')])
  })
})

describe('the length of vectors', () => {
  test.each<[string, object, string[]]>([
    ['longer than the contract', { ...embed, dimensions: 1_536, minDimensions: 256 }, []],
    ['from more than the default', { ...embed, minDimensions: 769 }, ['must not be more than dimensions (768)']],
    ['of a chat model', { ...lane, dimensions: 768 }, ['belongs to embeddings models only']],
  ])('%s', (_, model, problems) => {
    const found = problemsOf({ models: [model as typeof embed] })
    expect(found.map((problem) => problem.slice(problem.indexOf(': ') + 2))).toEqual(problems)
  })
})

describe('the schema refuses numbers that could not be counted exactly', () => {
  test.each([1, 1.5, 13.3, 0.001, 999.999, 2.675])('a multiplier of %s is accepted', (multiplier) => {
    expect(configFile.safeParse({ models: [{ ...lane, multiplier }] }).success).toBe(true)
  })

  test.each([-1, 1.0005, 1001, Number.NaN, Infinity])('a multiplier of %s is refused', (multiplier) => {
    expect(configFile.safeParse({ models: [{ ...lane, multiplier }] }).success).toBe(false)
  })

  test.each([
    [0.125, true],
    [0.000_001, true],
    [0.000_000_1, false],
    [1_000_001, false],
  ])('a rate of %s dollars per million: %s', (inputUsdPerMillion, accepted) => {
    const model = {
      id: 'd',
      type: 'chat',
      pool: 'chat',
      direct: true,
      rates: { inputUsdPerMillion, outputUsdPerMillion: 1 },
    }
    expect(configFile.safeParse({ models: [model] }).success).toBe(accepted)
  })
})

describe("a backend's address", () => {
  test.each(['http://127.0.0.1:8000/v1', 'https://api.openai.com/v1', '${GPU_URL}', 'https://${HOST}/v1'])(
    '%s is accepted',
    (url) => {
      expect(configFile.safeParse({ backends: [{ id: 'a', url }] }).success).toBe(true)
    },
  )

  test.each(['gpu-a', 'ftp://gpu/v1', '', '/v1', '$GPU_URL'])('"%s" is refused', (url) => {
    expect(configFile.safeParse({ backends: [{ id: 'a', url }] }).success).toBe(false)
  })
})
