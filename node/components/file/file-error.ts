// What is wrong with a media file, as a sentence that may be shown.

export class MediaFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MediaFileError';
  }
}
