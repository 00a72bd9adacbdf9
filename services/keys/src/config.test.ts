import { expect, test } from 'vitest'
import { loadSettings } from './config.ts'

const ENVIRONMENT = {
  NATS_URL: 'nats://127.0.0.1:4222',
  REDIS_URL: 'redis://127.0.0.1:6379',
  DATABASE_URL: 'postgres://gateway@127.0.0.1/gateway',
}
const FIRST = 'b5f0a3c9e7d14286a1f0c3e5d7b92846'
const SECOND = '0c9e8d7f6a5b4c3d2e1f0a9b8c7d6e5f'

test.each([
  undefined,
  '',
  'change-me',
  'change-me-change-me-change-me-change-me',
  'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  `${FIRST},short`,
])('the service refuses to boot with the master secret %s', (secret) => {
  expect(() => loadSettings({ ...ENVIRONMENT, KEYS_MASTER_SECRET: secret })).toThrow(/KEYS_MASTER_SECRET/)
})

test.each([FIRST, `${SECOND},${FIRST}`, `${SECOND}, ${FIRST}`])(
  'the service boots with the master secret %s',
  (secret) => {
    expect(loadSettings({ ...ENVIRONMENT, KEYS_MASTER_SECRET: secret }).masterSecret).toBe(secret)
  },
)
