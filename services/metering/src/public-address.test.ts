import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkedAddress, isPublicAddress, PrivateAddressError } from './public-address.ts'

/** In words of bits, for a second opinion that does not use the same list. */
const ofFour = (a: number, b: number, c: number) =>
  !(
    [0, 10, 127].includes(a) ||
    a >= 224 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) ||
    (a === 192 && b === 168) ||
    (a === 192 && b === 0 && (c === 0 || c === 2)) ||
    (a === 192 && b === 88 && c === 99) ||
    (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
    (a === 203 && b === 0 && c === 113)
  )

const byte = fc.integer({ min: 0, max: 255 })
const often = fc.constantFrom(0, 10, 100, 127, 169, 172, 192, 198, 203, 224, 255)
const second = fc.constantFrom(0, 16, 18, 31, 51, 64, 88, 127, 168, 254)
const third = fc.constantFrom(0, 2, 99, 100, 113)
const ipv4 = fc.tuple(fc.oneof(often, byte), fc.oneof(second, byte), fc.oneof(third, byte), byte)
const hex = (high: number, low: number) => ((high << 8) | low).toString(16)

describe('the address of a webhook', () => {
  test('of IPv4 is public exactly if no special range has it, in every form of IPv6 that stands for it', () => {
    fc.assert(
      fc.property(ipv4, ([a, b, c, d]) => {
        const isPublic = ofFour(a, b, c)
        const dotted = `${a}.${b}.${c}.${d}`
        expect([dotted, isPublicAddress(dotted)]).toEqual([dotted, isPublic])
        for (const form of [
          `::ffff:${dotted}`,
          `::ffff:${hex(a, b)}:${hex(c, d)}`,
          `0:0:0:0:0:FFFF:${hex(a, b)}:${hex(c, d)}`,
          `64:ff9b::${dotted}`,
          `64:ff9b:0:0:0:0:${hex(a, b)}:${hex(c, d)}`,
        ]) {
          expect([form, isPublicAddress(form)]).toEqual([form, isPublic])
        }
        // Tunnels and old forms reach nothing.
        for (const form of [`2002:${hex(a, b)}:${hex(c, d)}::1`, `::${dotted}`, `2001:0:${hex(a, b)}:${hex(c, d)}::`]) {
          expect([form, isPublicAddress(form)]).toEqual([form, false])
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('of IPv6 is public only within 2000::/3', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    fc.assert(
      fc.property(fc.tuple(...Array.from({ length: 8 }, () => group)), (groups) => {
        const text = groups.map((each) => each.toString(16)).join(':')
        if (isPublicAddress(text)) expect(groups[0]! >> 13).toBe(1)
      }),
    )
  })

  test.each([
    ['2606:4700:4700::1111', true],
    ['2a00:1450:4001:80b::200e', true],
    ['8.8.8.8', true],
    ['::1', false],
    ['::', false],
    ['fe80::1', false],
    ['fe80::1%eth0', false],
    ['fd00::1', false],
    ['fec0::1', false],
    ['ff02::1', false],
    ['2001:db8::1', false],
    ['3fff::1', false],
    ['255.255.255.255', false],
    ['example.com', false],
    ['', false],
  ])('%s: %s', (address, isPublic) => {
    expect(isPublicAddress(address)).toBe(isPublic)
  })
})

describe('a webhook whose address is private', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:169.254.169.254]', '2130706433', '0x7f.1', '10.0.0.8'])(
    'is refused before a connection: %s',
    async (host) => {
      const { hostname } = new URL(`http://${host}/`)
      await expect(checkedAddress(hostname, false)).rejects.toBeInstanceOf(PrivateAddressError)
    },
  )

  test('is used where its config allows it', async () => {
    expect(await checkedAddress('127.0.0.1', true)).toEqual({ address: '127.0.0.1', family: 4 })
    expect(await checkedAddress('[::1]', true)).toEqual({ address: '::1', family: 6 })
  })
})
