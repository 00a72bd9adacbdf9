import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memberAt, skipValue, walkItems, walkMembers } from './json-members.ts'

const value = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>('"},{', '\\"', { '': [{}, []] }, [[], ['']]))
const name = fc.string({ maxLength: 4 }).map((text) => text.replaceAll(/["\\]|[^\x20-\x7e]/g, 'x'))
const object = fc.dictionary(name, value)
const indent = fc.constantFrom(undefined, 1, '\t')

function membersIn(text: string, at: number): { members: [string, unknown][]; behind: number } {
  const members: [string, unknown][] = []
  const behind = walkMembers(text, at, (each, place, nameAt) => {
    expect(text.startsWith(JSON.stringify(each), nameAt)).toBe(true)
    const end = skipValue(text, place)
    members.push([each, JSON.parse(text.slice(place, end))])
    return end
  })
  return { members, behind }
}

test('a walk meets the members that a parser reads, in their order, and ends behind the object', () => {
  fc.assert(
    fc.property(object, indent, (written, spaces) => {
      const text = JSON.stringify([written, 'behind'], null, spaces)
      const at = text.indexOf('{')
      const { members, behind } = membersIn(text, at)
      const read = (JSON.parse(text) as [object])[0]
      expect(members).toEqual(Object.entries(read))
      expect(JSON.parse(text.slice(at, behind))).toEqual(read)
      for (const [each, held] of Object.entries(read)) {
        const place = memberAt(text, at, each)
        expect(JSON.parse(text.slice(place, skipValue(text, place)))).toEqual(held)
      }
      expect(memberAt(text, at, 'no such member')).toBe(-1)
    }),
  )
})

test('a walk meets the items of a list', () => {
  fc.assert(
    fc.property(fc.array(value), indent, (written, spaces) => {
      const text = JSON.stringify(written, null, spaces)
      const items: unknown[] = []
      const behind = walkItems(text, 0, (place) => {
        const end = skipValue(text, place)
        items.push(JSON.parse(text.slice(place, end)))
        return end
      })
      expect([items, behind]).toEqual([JSON.parse(text), text.length])
    }),
  )
})

test('a text that breaks off or is no JSON ends every walk', () => {
  fc.assert(
    fc.property(object, fc.nat(), fc.string(), (written, cut, noise) => {
      const text = JSON.stringify(written)
      const broken = text.slice(0, cut % text.length)
      for (const each of [broken, `{${noise}`, `{"a":${noise}`, noise]) {
        const behind = walkMembers(each, 0, (_, place) => skipValue(each, place))
        expect(behind).toBeLessThanOrEqual(each.length)
        expect(walkItems(each, 0, (place) => skipValue(each, place))).toBeLessThanOrEqual(each.length)
      }
      expect(walkMembers(broken, 0, (_, place) => skipValue(broken, place))).toBe(-1)
    }),
  )
})
