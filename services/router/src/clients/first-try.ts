/**
 * Hands a call's answer on to its exchange. An answer that refuses the credential is dropped instead, where another
 * credential is to be had: then the call is made again with that one, and its answer is the exchange's.
 */

import type { Dispatcher } from 'undici'
import type { Exchange } from './exchange.ts'

const REFUSED = new Set([401, 403])

export class FirstTry implements Dispatcher.DispatchHandler {
  #exchange: Exchange
  #renews: () => boolean
  #again: () => void
  #isDropped = false

  constructor(exchange: Exchange, renews: () => boolean, again: () => void) {
    this.#exchange = exchange
    this.#renews = renews
    this.#again = again
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#exchange.onRequestStart(controller)
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Parameters<Exchange['onResponseStart']>[2],
  ): void {
    if (REFUSED.has(status)) this.#isDropped = this.#renews()
    if (!this.#isDropped) this.#exchange.onResponseStart(controller, status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#isDropped) this.#exchange.onResponseData(controller, chunk)
  }

  onResponseEnd(): void {
    if (this.#isDropped) this.#again()
    else this.#exchange.onResponseEnd()
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.#exchange.onResponseError(controller, error)
  }
}
