/** The forms of errors that several vendors share. */

export const openAi = (message: string, type: string, code: string | null, param: string | null = null) => ({
  error: { message, type, param, code },
})
export const anthropic = (type: string, message: string, details?: object) => ({
  type: 'error',
  error: { type, message, ...(details ? { details } : {}) },
  request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
})
/** Gemini's and Vertex' compatible addresses put the error into a list. */
export const google = (code: number, status: string, message: string, details?: object[]) => [
  { error: { code, message, status, ...(details ? { details } : {}) } },
]
/** vLLM since 0.10, SGLang's without the envelope. */
export const python = (code: number, type: string, message: string, param: string | null = null) => ({
  object: 'error',
  message,
  type,
  param,
  code,
})
export const llamaCpp = (code: number, type: string, message: string, more: object = {}) => ({
  error: { code, message, type, ...more },
})
