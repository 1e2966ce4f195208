/** A translation of a text. */
export interface Translation {
  text: string;
  /** The log-probability divided by the length penalty. */
  score: number;
  /** In nats; -Infinity if the text is kept as it is. */
  logProb: number;
  /** The estimated chrF, from 0 to 100; null: unknown. */
  quality: number | null;
}

export interface Options {
  /** How many of the best translations are returned; 1. */
  nBest?: number;
  /** The beam width; that of the model. */
  beam?: number;
  /** Text that the translation begins with. */
  prefix?: string;
  /** Words or phrases that the translation contains. */
  include?: string[];
  /** Words or phrases that it does not contain. */
  exclude?: string[];
  /** A glossary: terms of the source language with their translations. */
  terms?: [string, string][];
  /** Whether numbers and code-like tokens are compared with those of the translation, and searched once more if they differ; true. */
  check?: boolean;
}

export interface Translator {
  /** Codes of the languages, such as "en"; "": unknown. */
  readonly source: string;
  readonly target: string;
  /** The best translations of a text of one or several lines, best first. The search blocks the thread: use a worker. */
  translate(text: string, options?: Options): Promise<Translation[]>;
}

/** The fastest engine that this host runs, which `load` takes. */
export function engineHere(): "relaxed" | "simd" | "scalar";

/**
 * Open a model of an export: of the folder of this module, or of the same folder at another URL.
 * `model` is the name of one of several models; the default is the first.
 * `engine` is one of three that compute the same; the default is the fastest one that the host runs.
 */
export function load(folder?: string | URL, options?: { model?: string; engine?: "relaxed" | "simd" | "scalar" }): Promise<Translator>;
