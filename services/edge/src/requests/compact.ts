/**
 * `POST /v1/responses/compact`. A vendor with the same endpoint gets the body as the client wrote it. Admission counts the
 * conversation and the router's own words to a target that writes a summary.
 */

import { compactRequest } from '@gateway/contracts/responses'
import { parseBody, type InferenceKind } from './inference-kinds.ts'
import { inferenceOf } from './responses.ts'
import { writeBody } from '../core/write-body.ts'

export const compact: InferenceKind = (body) => {
  const request = parseBody(compactRequest, body)
  const { model: _model, stream: _stream, ...rest } = request
  return { ...inferenceOf(request, writeBody(rest, ['tools']), 'endpoint'), stream: false }
}
