/**
 * How visitors come, stay and leave, whatever they see by and whatever they type on: one gateway and one browser for all.
 * `npm test -- tests/console -t session` runs one part.
 */

import { describe } from 'vitest'
import './shared-stage.ts'

describe('first use', async () => void (await import('./first-use.ts')))
describe('session', async () => void (await import('./session.ts')))
describe('everyone', async () => void (await import('./everyone.ts')))
describe('pictures', async () => void (await import('./pictures.ts')))
