// Error of a media file, with a message that may be shown to clients.

export class MediaFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MediaFileError';
  }
}
