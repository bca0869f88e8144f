mod archive;
mod faulty;
mod segments;
