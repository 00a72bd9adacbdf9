import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { formatKey, KEY_ID_LENGTH, KEY_SECRET_LENGTH } from '@gateway/contracts/api-key'
import { rpcClient } from '@gateway/rpc/client'
import { openAccountCache } from './account-cache.ts'
import type { EdgeContext } from '../edge-context.ts'
import { followDeadKeys } from '../admission/running-requests.ts'
import { claimKey, hashKey } from './authenticate.ts'

test.each(['rotated', 'revoked'] as const)(
  'a %s key is refused once keys has published it, also where a former primary of Redis still takes it for a good one',
  async (reason) => {
    await using bus = await openMemoryBus({ hub: createMemoryHub() })
    const plans = openAccountCache()
    const cut: string[] = []
    const running = { cutKey: (keyHash: string) => void cut.push(keyHash) }
    await using _following = await followDeadKeys(bus, [running], plans)
    const [dead, alive] = [keyOf('dead'), keyOf('alive')]
    const claim = (key: string) =>
      claimKey({ plans } as EdgeContext, { headers: { 'x-api-key': key } } as never as IncomingMessage)
    const { account, keyId, keyHash } = await claim(dead)

    rpcClient('keys', bus).publish('keysInvalidated', { account, keyHash, keyId, reason })

    await expect.poll(() => plans.isDeadKey(hashKey(dead))).toBe(true)
    await expect(claim(dead)).rejects.toMatchObject({ code: 'INVALID_KEY' })
    await expect(claim(alive)).resolves.toMatchObject({ keyHash: hashKey(alive) })
    expect(cut).toEqual(reason === 'revoked' ? [keyHash] : [])
  },
)

function keyOf(name: string): string {
  return formatKey({
    keyId: name.padEnd(KEY_ID_LENGTH, '0'),
    accountTag: 'Tag12345',
    secret: name.padEnd(KEY_SECRET_LENGTH, '1'),
  })
}
