import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DEFAULT_CHAT_MODEL } from '@gateway/contracts/chat'
import { PLACEHOLDER } from '@gateway/contracts/config'
import { VENDORS, type VendorSettings } from '@gateway/contracts/vendors'
import { PRICE_LIST } from '@gateway/pricing/list-rates'
import { describe, expect, test } from 'vitest'
import { loadConfig } from './load-config.ts'
import { resolveSecrets } from './resolve-secrets.ts'

const folder = fileURLToPath(new URL('../../../deploy/config/examples/', import.meta.url))
const read = (name: string) => readFileSync(folder + name, 'utf8')
const examples = readdirSync(folder)

/** A value for each variable: an address where the file needs one. */
function variablesOf(text: string): Record<string, string> {
  const names = [...text.matchAll(PLACEHOLDER)].map(([, variable]) => variable!)
  return Object.fromEntries(names.map((name) => [name, name.endsWith('_URL') ? 'https://a.example/v1' : 'a-key']))
}

test('there is an example for each vendor whose address an operator has to name, and each is of a vendor', () => {
  const all = Object.entries<VendorSettings>(VENDORS)
  const fileOf = ([vendor]: [string, VendorSettings]) => `${vendor.replace('.', '-')}.yaml`
  expect(examples).toEqual(expect.arrayContaining(all.filter(([, { url }]) => url === undefined).map(fileOf)))
  expect(all.map(fileOf)).toEqual(expect.arrayContaining(examples))
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
    const howTo = text.slice(0, text.indexOf(' GATEWAY_CONFIG='))
    for (const [, variable] of text.matchAll(PLACEHOLDER)) expect(howTo).toContain(`${variable}=…`)
  })

  test('has usable backends once its variables are set', () => {
    for (const backend of config.backends) {
      const variables = variablesOf(text)
      expect(resolveSecrets(backend, variables).url).toMatch(/^https?:\/\/.*\/(v1|openai|openapi)$/)
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
