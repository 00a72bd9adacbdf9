import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { writeChat } from './request.ts'

type Json = Record<string, unknown>

const tool = (name: string): Json => ({ type: 'function', name, parameters: { type: 'object', properties: {} } })
const space = (name: string, ...tools: string[]): Json => ({ type: 'namespace', name, tools: tools.map(tool) })

function namesOf(request: Json): string[] {
  const { chat } = writeChat({ input: 'x', ...request })
  return (chat.tools as { function: { name: string } }[]).map((each) => each.function.name)
}

describe('tools of namespaces', () => {
  test('have names of their own where two would share one', () => {
    const tools = [space('a', 'b__c'), space('a__b', 'c'), tool('a__b__c')]
    const names = namesOf({ tools })
    expect(new Set(names).size).toBe(3)
    expect(names[2]).toBe('a__b__c')
  })

  test('are no longer than chat allows, and the client reads their own names', () => {
    const [namespace, name] = ['mcp_'.repeat(10), 'read_the_whole_document_'.repeat(2)]
    const call = { type: 'function_call', call_id: 'c', name, namespace, arguments: '{}' }
    const input = [{ role: 'user', content: 'x' }, call, { type: 'function_call_output', call_id: 'c', output: 'y' }]
    const { chat, echo } = writeChat({ input, tools: [space(namespace, name)] })
    const [written] = chat.tools as { function: { name: string } }[]
    expect(written!.function.name.length).toBeLessThanOrEqual(64)
    const [, said] = chat.messages as { tool_calls: unknown }[]
    expect(said!.tool_calls).toMatchObject([{ function: { name: written!.function.name } }])
    expect(echo.own.get(written!.function.name)).toEqual({ name, namespace, isCustom: false })
  })

  test('are never mixed up, under any names', () => {
    const word = fc.array(fc.constantFrom('a', 'b', '_', '__', 'a'.repeat(40)), { minLength: 1, maxLength: 4 })
    const name = word.map((parts) => parts.join(''))
    const spaces = fc.uniqueArray(fc.tuple(name, name), { selector: ([one, other]) => `${one} ${other}`, minLength: 1 })
    fc.assert(
      fc.property(spaces, fc.uniqueArray(name), (pairs, plain) => {
        const tools = [...pairs.map(([namespace, inner]) => space(namespace, inner)), ...plain.map(tool)]
        const input = pairs.flatMap(([namespace, inner], at) => [
          { type: 'function_call', call_id: `c${at}`, name: inner, namespace, arguments: '{}' },
          { type: 'function_call_output', call_id: `c${at}`, output: 'y' },
        ])
        const { chat, echo } = writeChat({ input: [{ role: 'user', content: 'x' }, ...input], tools })
        const names = (chat.tools as { function: { name: string } }[]).map((each) => each.function.name)
        expect(new Set(names).size).toBe(names.length)
        const long = names.filter((each) => each.length > 64)
        expect(long.every((each) => plain.includes(each))).toBe(true)
        const called = (chat.messages as { tool_calls?: { function: { name: string } }[] }[]).flatMap(
          (message) => message.tool_calls ?? [],
        )
        expect(called.map((call) => echo.own.get(call.function.name))).toEqual(
          pairs.map(([namespace, inner]) => ({ name: inner, namespace, isCustom: false })),
        )
      }),
    )
  })

  test('may be allowed by their own names', () => {
    const tools = [space('a', 'b'), space('c', 'd')]
    const choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'd' }] }
    expect(namesOf({ tools, tool_choice: choice })).toEqual(['c__d'])
  })
})
