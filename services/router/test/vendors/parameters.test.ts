/**
 * Each member of a request that a vendor publishes is in one of three classes. A client may send it, it has a price that the
 * gateway does not know, or it stays with the operator. The router sends no member without a class.
 */

import { VENDORS, type Vendor } from '@gateway/contracts/vendors'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fold, stripParameters } from '../../src/core/strip-parameters.ts'
import { VENDOR_PROFILES } from '../../src/vendors/index.ts'
import { plain } from '../../src/vendors/plain.ts'
import { PLAIN_POLICIES, policiesFor } from '../../src/vendors/policies.ts'
import { FIXTURES } from './fixtures.ts'
import { membersOf } from './schemas.ts'
import { STAND_INS } from './stand-ins.ts'

const vendors = Object.keys(VENDORS) as Vendor[]

function classesOf(vendor: Vendor) {
  const { parameters, pricedOptions } = VENDOR_PROFILES[vendor]
  const { chat, messages, control, unrelated = new Set<string>() } = parameters
  const accepted = vendor === 'anthropic' ? messages! : chat(STAND_INS[vendor].model)!
  return { accepted, control, unrelated, priced: new Set(Object.keys(pricedOptions)) }
}

describe.each(vendors)('each member that %s publishes', (vendor) => {
  const { accepted, control, unrelated, priced } = classesOf(vendor)

  test('is classified', () => {
    const known = new Set([...accepted, ...control, ...unrelated, ...priced])
    expect(membersOf(vendor).filter((name) => !known.has(name))).toEqual([])
  })

  test('is in one class', () => {
    expect([...accepted].filter((name) => control.has(name) || unrelated.has(name))).toEqual([])
    expect([...control].filter((name) => priced.has(name) || unrelated.has(name))).toEqual([])
  })

  test('or takes beside it, is all that it accepts', () => {
    const published = new Set([...membersOf(vendor), ...(FIXTURES[vendor].beside ?? []), 'stream_options'])
    expect([...accepted].filter((name) => !published.has(name))).toEqual([])
  })

  test('leaves as its class says, for any value of it and of its neighbours', () => {
    const kind = vendor === 'anthropic' ? 'messages' : 'chat'
    const policy = policiesFor(VENDOR_PROFILES[vendor], STAND_INS[vendor].model, { allowParameters: [] })[kind]
    const name = fc.oneof(fc.constantFrom(...membersOf(vendor), ...control, ...priced), fc.string())
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue({ maxDepth: 1 })), (request) => {
        const { body, dropped } = stripParameters(Buffer.from(JSON.stringify(request)), policy)
        const left = JSON.parse(body.toString()) as Record<string, unknown>
        for (const member of Object.keys(left))
          expect({ member, accepted: accepted.has(member) }).toMatchObject({ accepted: true })
        for (const member of Object.keys(request)) {
          if (member in left || request[member] === null) continue
          expect(dropped).toContain(member)
          expect({ member, isFree: accepted.has(member) && !priced.has(member) }).toMatchObject({ isFree: false })
        }
      }),
    )
  })
})

describe('a server of which nothing is known', () => {
  const steering = [plain, ...Object.values(VENDOR_PROFILES)].flatMap(({ parameters }) => [...parameters.control])
  const ordinary = new Set(vendors.flatMap((vendor) => [...classesOf(vendor).accepted]))
  /** A member that one vendor keeps from clients may be an ordinary one of another's API. */
  const denied = steering.filter((name) => !ordinary.has(name) && name !== 'prompt')

  test('gets no control parameter of any vendor, in any case and spelling', () => {
    const spelling = fc.constantFrom<(name: string) => string>(
      (name) => name,
      (name) => name.toUpperCase(),
      (name) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      (name) => name.replaceAll('_', '-'),
      (name) => name.replaceAll('s', 'ſ'),
    )
    fc.assert(
      fc.property(fc.constantFrom(...denied), spelling, fc.jsonValue(), (name, spell, value) => {
        const member = spell(name)
        const request = Buffer.from(JSON.stringify({ [member]: value ?? 1, temperature: 1 }))
        const { body, dropped } = stripParameters(request, PLAIN_POLICIES.chat)
        expect({ body: body.toString(), dropped }).toEqual({ body: '{"temperature":1}', dropped: [member] })
      }),
    )
  })

  test('gets every other member as it came', () => {
    const name = fc.string().filter((text) => !steering.map(fold).includes(fold(text)))
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue({ maxDepth: 1 })), (request) => {
        const body = Buffer.from(JSON.stringify(request))
        expect(stripParameters(body, PLAIN_POLICIES.chat)).toEqual({ body, dropped: [] })
      }),
    )
  })
})

describe('a vendor that is known by its address alone', () => {
  const unlisted = Object.values(VENDOR_PROFILES).filter(({ parameters }) => parameters.chat('m') === undefined)
  const options = { service_tier: 'priority', models: ['a/b'], fallbacks: ['a'], speed: 'fast', web_search_options: {} }

  test.each(unlisted)('$name gets no option of any vendor that has a price, and no control parameter', (profile) => {
    const { chat } = policiesFor(profile, 'm', { allowParameters: [] })
    const request = { ...options, priority: -1, temperature: 1 }
    const { body, dropped } = stripParameters(Buffer.from(JSON.stringify(request)), chat)
    expect({ body: body.toString(), dropped }).toEqual({
      body: '{"temperature":1}',
      dropped: [...Object.keys(options), 'priority'],
    })
  })
})
