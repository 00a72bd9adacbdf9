import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { change, SABOTAGES, SCRIPT_LINES } from './sabotages.ts'

const ROOT = join(import.meta.dirname, '../../..')

test.each(Object.entries(SABOTAGES))('%s fits the source', (_name, changes) => {
  for (const { file } of changes) {
    const source = readFileSync(join(ROOT, file), 'utf8')
    expect(change(source, file, changes)).not.toBe(source)
  }
})

test('counted minutes fit the script that they change', () => {
  const decide = readFileSync(join(ROOT, 'packages/admission/src/lua/decide.lua'), 'utf8')
  expect(decide).toContain("redis.call('ZREMRANGEBYSCORE', LOG, '-inf', NOW_US - MINUTE_US)")
})

test('changed lines of scripts are in the script that has them', () => {
  const admit = readFileSync(join(ROOT, 'packages/admission/src/lua/admit.lua'), 'utf8')
  for (const line of Object.values(SCRIPT_LINES)) expect(admit).toContain(line)
})

test('sabotage that does not fit any more is an error, not a run that passes', () => {
  expect(() => change('something else', 'services/edge/src/relay/settle.ts', SABOTAGES['no-wait'])).toThrow('not fit')
})
