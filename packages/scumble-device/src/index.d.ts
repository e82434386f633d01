/** A state of a device: opaque bytes. They hold the device's key: keep them as you keep the person's data. */
export type State = Uint8Array

/** Where a state is kept. */
export interface Storage {
  /** What is stored, or null. */
  read(): Promise<State | null>
  /** Stores `next` only if `previous` is what is stored, all at once and durably; says whether it did. */
  write(next: State, previous: State | null): Promise<boolean>
}

/** The most that this device may lose, by unit, over all campaigns and all its life. What is left out is 0. */
export interface Policy {
  attribute?: number
  l1?: number
  l2?: number
  record?: number
  /** For each unit; 1e-5 unless given. */
  delta?: number
}

/** 32 bytes, 64 lower-case hexadecimal digits, or the line of a public key file. */
export type Key = Uint8Array | string

export interface Options {
  /** The campaign's text, as `scumble campaign sign` wrote it. */
  campaign: string | Uint8Array | ArrayBuffer
  /** The public file that the campaign names (bins, components or a book), if it names one. */
  file?: Uint8Array | ArrayBuffer
  /** The public key that must have signed. This or `digest` is needed. */
  signer?: Key
  /** The campaign's name: stronger than the signer, since a campaign could be made for one person alone. */
  digest?: Key
  policy: Policy
  /** In a browser IndexedDB unless given; in Node it must be given. */
  storage?: Storage
  /** Sent as `authorization: Bearer ..`, where the campaign needs a token. A token of one device alone would name that device. */
  token?: string
  /** Another copy of the WASM module. */
  module?: WebAssembly.Module | BufferSource | Promise<WebAssembly.Module | BufferSource>
  /** Fills an array with secret random bytes or throws; `crypto.getRandomValues` unless given. */
  entropy?: (bytes: Uint8Array) => unknown
}

export type Numbers = Float32Array | Float64Array | Int16Array | Uint8Array | readonly number[]

/** Attributes that are not zero, strictly increasing, and their values. */
export interface Sparse {
  dim: number
  index: Uint32Array | readonly number[]
  values: Numbers
}

export interface Loss {
  epsilon: number
  delta: number
}

export interface Budget extends Loss {
  unit: 'attribute' | 'l1' | 'l2' | 'record'
  reportLength: number
  /** What this device has lost in this unit, over all campaigns. */
  spent: Loss
  /** The most that it may lose. */
  limit: Loss
}

export interface Sent {
  /** The collector's receipt says that it has them. */
  sent: number
  /** The collector's receipt says that it will never take them: forgotten. */
  refused: number
  /** Any other answer, or none: they wait. */
  waiting: number
}

/** The client says no. `code` is stable; `message` is a fixed sentence without anything private. */
export class Refusal extends Error {
  readonly code: number
}

/** A device in one campaign. */
export class Client {
  static open(options: Options): Promise<Client>
  /**
   * What the person should read, in lines. The first is the client's own: what one report costs, as the device computed it. The
   * others are the campaign's words as they were signed.
   */
  readonly statement: string
  /** Where reports go. */
  readonly collector: string
  /** The campaign's name, 64 hexadecimal digits. */
  readonly digest: string
  /** Loss of one content, what is spent and the most that may be; as last read from the storage: see `refresh`. */
  readonly budget: Budget
  /** How often the state has changed. */
  readonly generation: number
  /** Reports that are charged and wait to be sent; as last read from the storage. */
  readonly pending: Uint8Array[]
  /** Reads the storage again, in case another client of it has written; gives the budget. */
  refresh(): Promise<Budget>
  /** Charges and stores, then gives the report; null when there is nothing to send. `now`: seconds since 1970. */
  report(slot: string, vector: Numbers | Sparse, options?: { now?: number }): Promise<Uint8Array | null>
  /**
   * Sends what waits, each report by itself; throws when the collector is neither at https: nor on this machine.
   * `token`: instead of the one given to `open`.
   */
  send(fetch?: typeof globalThis.fetch, options?: { token?: string }): Promise<Sent>
  /** What the encoding-only module needs; refused (code 25) for mechanisms that it does not have. */
  plan(): Uint8Array
  /** Ends the client and wipes its memory. */
  close(): void
}

export interface EncoderOptions {
  /** What `client.plan()` gave, from a client that checked the campaign. */
  plan: Uint8Array
  /** The device's secret key: 32 random bytes, made once. */
  key: Key
  /** Another copy of the encoding-only WASM module. */
  module?: WebAssembly.Module | BufferSource | Promise<WebAssembly.Module | BufferSource>
}

/** Writes reports by a plan. It checks no signature and no law, charges nothing and stores nothing: the host does. */
export class Encoder {
  static open(options: EncoderOptions): Promise<Encoder>
  /** The report of a vector for a period, counted from 0. */
  report(slot: string, vector: Numbers | Sparse, period: number): Uint8Array
  /** Ends the encoder and wipes its key. */
  close(): void
}

/** Nothing is kept: for tests and demonstrations. */
export function memoryStorage(): Storage
/** In the browser's IndexedDB. */
export function indexedDbStorage(name?: string): Storage
/** In files beside `path` (Node only). */
export function fileStorage(path: string): Storage
