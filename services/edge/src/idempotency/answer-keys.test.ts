import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { rememberAnswerKeys } from './answer-keys.ts'

const secretOf = (masterKeyId: string) => ({ masterKeyId, secret: randomBytes(32).toString('base64url') })
const OLD = secretOf('0123456789ab')
const NEW = secretOf('ba9876543210')

test('keys is asked once, by however many at the same time', async () => {
  let asked = 0
  const source = rememberAnswerKeys({
    async answerSecrets() {
      asked++
      return { secrets: [OLD] }
    },
  })
  await Promise.all([source.current(), source.current(), source.current()])
  await source.current()
  expect(asked).toBe(1)
})

test('a failure is not remembered, and one to refresh leaves what was known', async () => {
  let answer = async () => ({ secrets: [OLD] })
  const source = rememberAnswerKeys({ answerSecrets: () => answer() })
  const away = async (): Promise<never> => {
    throw new Error('keys is away')
  }
  answer = away
  await expect(source.current()).rejects.toThrow('away')
  answer = async () => ({ secrets: [OLD] })
  expect((await source.current()).current.id).toBe(OLD.masterKeyId)
  answer = away
  await expect(source.refreshed()).rejects.toThrow('away')
  expect((await source.current()).current.id).toBe(OLD.masterKeyId)
  answer = async () => ({ secrets: [NEW, OLD] })
  await source.refreshed()
  const { current, byId } = await source.current()
  expect([current.id, ...byId.keys()]).toEqual([NEW.masterKeyId, NEW.masterKeyId, OLD.masterKeyId])
})
