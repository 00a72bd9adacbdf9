/**
 * The organization and its projects, for owners, readers and members: one gateway and one browser for all. `npm test --
 * tests/console -t projects` runs one part.
 */

import { describe } from 'vitest'
import './shared-stage.ts'

describe('overview', async () => void (await import('./organization-overview.ts')))
describe('projects', async () => void (await import('./projects.ts')))
describe('roles', async () => void (await import('./organization-roles.ts')))
