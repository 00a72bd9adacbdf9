import { describe, expect, test } from 'vitest'
import { readCommandLine } from './usage.ts'

describe('npm start', () => {
  test('without a word starts the gateway', () => {
    expect(readCommandLine([])).toEqual({ page: null, backend: null })
  })

  test.each(['--help', '-h'])('%s explains how to use it, each variable with its meaning', (word) => {
    const page = readCommandLine([word]).page!
    expect(page).toContain('GATEWAY_CONFIG')
    expect(page).toContain('npm start -- --backend http://')
    expect(page).toMatch(/^ {2}PORT +the port of the public HTTP address; 0 takes a free one$/m)
    expect(page).not.toContain('undefined')
  })

  test.each([['--backend', 'http://127.0.0.1:11434/v1'], ['--backend=http://127.0.0.1:11434/v1']])(
    'takes the address of a server',
    (...words) => {
      expect(readCommandLine(words)).toEqual({ page: null, backend: 'http://127.0.0.1:11434/v1' })
    },
  )

  test.each([['127.0.0.1:11434'], ['ftp://127.0.0.1/v1'], ['']])('refuses %j as an address', (word) => {
    expect(() => readCommandLine(['--backend', word])).toThrow('--backend is an address such as')
  })

  test.each(['--hlep', 'http://127.0.0.1:11434/v1'])(
    'refuses a word that it does not know, and names it: %s',
    (word) => {
      expect(() => readCommandLine([word])).toThrow(word)
    },
  )
})
