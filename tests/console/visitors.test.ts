/**
 * Visitors come, stay and leave, with any display and any keyboard: one gateway and one browser for all. `npm test --
 * tests/console -t session` runs one part.
 */

import { describe } from 'vitest'
import './shared-stage.ts'

describe('first use', async () => void (await import('./first-use.ts')))
describe('session', async () => void (await import('./session.ts')))
describe('everyone', async () => void (await import('./everyone.ts')))
describe('pictures', async () => void (await import('./pictures.ts')))
