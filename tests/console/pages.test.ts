/**
 * The console's files and the behaviour of its pages: one gateway and one browser for all. `npm test -- tests/console
 * -t keys` runs one part.
 */

import { describe } from 'vitest'
import './shared-stage.ts'

describe('files', async () => void (await import('./files.ts')))
describe('keys', async () => void (await import('./keys.ts')))
describe('playground', async () => void (await import('./playground-trouble.ts')))
describe('usage', async () => void (await import('./usage.ts')))
