mod archive;
mod faulty;
