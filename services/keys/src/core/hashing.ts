/**
 * The two hashes of this service. A key's SHA-256 finds the key; a key has 190 random bits, so a plain hash gives
 * nothing away. A keyed hash stands for guessable values: device ids and client networks.
 */

import { createHash, createHmac } from 'node:crypto'

export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

export type Pepper = Uint8Array

export function hashDevice(pepper: Pepper, deviceId: string): Buffer {
  return keyedHash(pepper, 'device', deviceId)
}

export function hashNetwork(pepper: Pepper, clientNetwork: string): Buffer {
  return keyedHash(pepper, 'network', clientNetwork)
}

function keyedHash(pepper: Pepper, kind: string, value: string): Buffer {
  return createHmac('sha256', pepper).update(`${kind}\0${value}`).digest()
}
