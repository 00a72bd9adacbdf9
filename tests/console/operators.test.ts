/**
 * The pages of those who run the gateway, and receipts for everybody: one gateway and one browser for all. `npm test --
 * tests/console -t backends` runs one part.
 */

import { describe } from 'vitest'
import './shared-stage.ts'

describe('backends', async () => void (await import('./backends.ts')))
describe('audit', async () => void (await import('./audit.ts')))
describe('people', async () => void (await import('./people.ts')))
describe('receipts', async () => void (await import('./receipts.ts')))
describe('operators', async () => void (await import('./operators.ts')))
