import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { expect, test } from 'vitest'
import { ConfigError } from '@gateway/config/config-error'
import { EnvironmentError } from './environment.ts'
import { UsageError, describeFatal } from './report-fatal.ts'

test("an operator's error is a sentence without a stack", () => {
  const config = new ConfigError('gateway.yaml', [{ field: 'plans', message: 'is required', line: 3, column: 1 }])
  expect(describeFatal(config)).toBe(
    'The configuration in gateway.yaml cannot be used (1 problem):\n  gateway.yaml:3:1  plans: is required',
  )
  const environment = new EnvironmentError([{ variable: 'NATS_URL', message: 'is not set' }])
  expect(describeFatal(environment)).toBe('The environment cannot be used:\n  NATS_URL  is not set')
})

test('a wrong command line gets a sentence without a stack', () => {
  expect(describeFatal(new UsageError('--edges must be a whole number'))).toBe('--edges must be a whole number')
  let refused: unknown
  try {
    parseArgs({ args: ['--edge'], options: {} })
  } catch (error) {
    refused = error
  }
  expect(describeFatal(refused)).toMatch(/^Unknown option '--edge'/)
  expect(describeFatal(refused)).not.toContain('    at ')
})

test('a defect comes with its stack and its cause', () => {
  const text = describeFatal(new Error('no ledger', { cause: new Error('connect refused') }))
  expect(text).toContain('report-fatal.test.ts')
  expect(text).toContain('connect refused')
})

test('the process ends with 1 and the message on stderr', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { reportFatal } from ${JSON.stringify(new URL('./report-fatal.ts', import.meta.url).href)}
     import { parseEnvironment, variables } from ${JSON.stringify(new URL('./environment.ts', import.meta.url).href)}
     import * as z from 'zod'
     try { parseEnvironment(z.object({ PORT: variables.PORT }), { PORT: 'x' }) } catch (error) { reportFatal(error) }`,
    ],
    { encoding: 'utf8', cwd: import.meta.dirname },
  )
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr:
      'The environment cannot be used:\n  PORT  must be a whole number; set it to the port of the public HTTP address; 0 takes a free one\n',
  })
})
