import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DEFAULT_CHAT_MODEL } from '@gateway/contracts/chat'
import { PLACEHOLDER } from '@gateway/contracts/config'
import { PRICE_LIST } from '@gateway/pricing/list-rates'
import { describe, expect, test } from 'vitest'
import { loadConfig } from './load-config.ts'
import { resolveSecrets } from './resolve-secrets.ts'

const folder = fileURLToPath(new URL('../../../deploy/config/examples/', import.meta.url))
const read = (name: string) => readFileSync(folder + name, 'utf8')
const examples = readdirSync(folder)

test('there is an example for each kind of backend', () => {
  expect(examples.toSorted()).toEqual(['anthropic.yaml', 'llama-cpp.yaml', 'ollama.yaml', 'openai.yaml', 'vllm.yaml'])
})

describe.each(examples)('the example %s', (name) => {
  const text = read(name)
  const { config } = loadConfig(text, name)

  test('serves requests that name no model, and Auto', () => {
    expect(config.models.map(({ id }) => id)).toEqual(expect.arrayContaining([DEFAULT_CHAT_MODEL, 'svc-best']))
  })

  test('says how to start it, with the variables that it needs and no key in it', () => {
    expect(text).toContain(`GATEWAY_CONFIG=deploy/config/examples/${name} npm start`)
    for (const { apiKey } of config.backends) expect(apiKey ?? '${NONE}').toMatch(/^\$\{\w+\}$/)
    for (const [, variable] of text.matchAll(PLACEHOLDER)) expect(text).toContain(`${variable}=… GATEWAY_CONFIG`)
  })

  test('has usable backends once its variables are set', () => {
    for (const backend of config.backends) {
      const variables = Object.fromEntries([...text.matchAll(PLACEHOLDER)].map(([, variable]) => [variable, 'a-key']))
      expect(resolveSecrets(backend, variables).url).toMatch(/^https?:\/\/.*\/v1$/)
    }
  })

  test("bills direct models by the vendor's list, and says that it is to be checked", () => {
    const direct = config.models.filter((model) => model.type !== 'auto' && model.direct)
    expect(direct.map((model) => model.type !== 'auto' && model.rates)).toEqual(
      direct.map(() => expect.objectContaining(PRICE_LIST)),
    )
    expect(/check it with the\s+(# )?vendor/.test(text)).toBe(direct.length > 0)
  })
})
