import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { EnvironmentError } from './environment.ts'
import { explainListenError } from './explain-listen-error.ts'

const names = { host: 'HOST', port: 'PORT' } as const

/** The sentence for the operator. */
async function readAt(address: { host: string; port: number }): Promise<unknown> {
  try {
    await once(createServer().listen(address), 'listening')
  } catch (error) {
    return explainListenError(error, address, names)
  }
  throw new Error('it listens')
}

test.each([
  [
    'a host that is no name',
    { host: 'not a host', port: 0 },
    'HOST  not a host is no address of this machine; set HOST to',
  ],
  ['an address of another machine', { host: '192.0.2.1', port: 0 }, 'HOST  192.0.2.1 is no address of this machine'],
])('%s is reported by its variable', async (_, address, words) => {
  const listenError = await readAt(address)
  expect(listenError).toBeInstanceOf(EnvironmentError)
  expect((listenError as Error).message).toContain(words)
})

test('so are a taken port, one without the right to it, and one beyond the last', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  expect(String(await readAt({ host: '127.0.0.1', port }))).toContain(
    `PORT  127.0.0.1:${port} is taken by another process; set PORT to a free port`,
  )
  other.close()
  expect(String(await readAt({ host: '127.0.0.1', port: 65_536 }))).toContain('PORT  65536 is no port')
  const refused = Object.assign(new Error('permission denied'), { code: 'EACCES' })
  expect(String(explainListenError(refused, { host: '::', port: 80 }, names))).toContain(
    'PORT  the system keeps port 80',
  )
})

test('any other error stays the same', () => {
  const defect = new Error('a defect')
  expect(explainListenError(defect, { host: '::', port: 80 }, names)).toBe(defect)
})
