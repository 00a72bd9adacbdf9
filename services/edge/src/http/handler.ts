/**
 * A route's own code. It gets its principal from the credential that its row names.
 */

import type { Request, Response } from 'express'
import type { Credential, Principals } from '../auth/authenticate.ts'

export type Handler<Name extends Credential> = (
  request: Request,
  response: Response,
  principal: Principals[Name],
) => void | Promise<void>
