/**
 * The two hashes of this service: a key's SHA-256, by which it is looked up (a key carries 190 random bits, so a plain
 * hash gives nothing away), and the keyed hash of what could be guessed, such as device ids and client networks.
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
