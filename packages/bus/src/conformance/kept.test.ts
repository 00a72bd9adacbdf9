import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { adapters, type World } from './adapters.ts'
import { read, text } from './recorded-responses.ts'

const WITHIN = { timeoutMs: 5_000 }

describe.each(adapters)('kept values on $name', ({ createWorld }) => {
  let world: World
  beforeEach(async () => void (world = await createWorld()))
  afterEach(() => world[Symbol.asyncDispose]())

  it('has nothing where nobody has written, before the first value and beside it', async () => {
    const bus = await world.open()
    expect(await bus.kept.read('kept.one', WITHIN)).toBeNull()
    await bus.kept.write('kept.two', text('2'), WITHIN)
    expect(await bus.kept.read('kept.one', WITHIN)).toBeNull()
  })

  it('holds the last value of each subject, for every process and after the death of its writer', async () => {
    const [writer, other] = [await world.open(), await world.open()]
    for (const value of ['1', '2', '3']) await writer.kept.write('kept.one', text(value), WITHIN)
    await other.kept.write('kept.two', text('another'), WITHIN)
    world.kill(writer)
    const reader = await world.open()
    expect(read((await reader.kept.read('kept.one', WITHIN))!)).toBe('3')
    expect(read((await other.kept.read('kept.two', WITHIN))!)).toBe('another')
    await other.kept.write('kept.one', text(''), WITHIN)
    expect(read((await reader.kept.read('kept.one', WITHIN))!)).toBe('')
  })
})
