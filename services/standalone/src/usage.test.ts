import { describe, expect, test } from 'vitest'
import { usageAskedFor } from './usage.ts'

describe('npm start', () => {
  test('without a word starts the gateway', () => {
    expect(usageAskedFor([])).toBeNull()
  })

  test.each(['--help', '-h'])('%s tells how to use it, each variable with its meaning', (word) => {
    const page = usageAskedFor([word])!
    expect(page).toContain('GATEWAY_CONFIG')
    expect(page).toMatch(/^ {2}PORT +the port of the public HTTP address$/m)
    expect(page).not.toContain('undefined')
  })

  test('refuses a word that it does not know, and names it', () => {
    expect(() => usageAskedFor(['--hlep'])).toThrow('--hlep')
  })
})
